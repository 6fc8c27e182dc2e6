/** What of a picture does not depend on what is open: worked out once, since every click asks for it again. */

import { Kind } from "../model/messages.ts";
import { type Rows, rowsBy } from "./csr.ts";
import { foldable } from "./fold.ts";
import { textOf } from "./payload.ts";
import { kindOf, type Picture, placeOf } from "./picture.ts";

interface Basis {
  inEdges: Rows;
  outEdges: Rows;
  /** Bits of the sides on which a node can be a badge on its consumers. */
  folds: Uint8Array;
  /** 1 for tuples, and what takes them apart, that can be a mark on an edge. */
  elided: Uint8Array;
  /** 1 for what Relax's runtime does beside the data, and for what only the runtime reads. */
  runtime: Uint8Array;
  /** All groups, each after the one around it. */
  groupOrder: Int32Array;
}

const known = new WeakMap<Picture, Basis>();

export function basisOf(picture: Picture): Basis {
  const basis = known.get(picture) ?? build(picture);
  known.set(picture, basis);
  return basis;
}

function build(picture: Picture): Basis {
  const inEdges = rowsBy(picture.target, picture.nodeCount);
  const outEdges = rowsBy(picture.source, picture.nodeCount);
  const elided = new Uint8Array(picture.nodeCount);
  for (let u = 0; u < picture.nodeCount; u++) {
    const kind = kindOf(picture, u);
    const consumed = outEdges.offset[u + 1] > outEdges.offset[u];
    if ((kind === Kind.tuple || kind === Kind.get_item) && (consumed || kind === Kind.tuple)) elided[u] = 1;
  }
  return {
    inEdges,
    outEdges,
    folds: foldable(picture, inEdges, outEdges),
    elided,
    runtime: runtimeOf(picture, outEdges),
    groupOrder: outsideIn(picture.groups.parent),
  };
}

/** The names are those of RUNTIME in workbench/graph/changes.py; a tensor that the runtime allocates carries data between kernels. */
function runtimeOf(picture: Picture, { offset, items }: Rows): Uint8Array {
  const out = new Uint8Array(picture.nodeCount);
  const labels = Array.from(out, (_, u) => {
    const { graph, id } = placeOf(picture, u, 1);
    return textOf(graph, "label", id);
  });
  const named = labels.map((label) => /^(relax\.(vm|memory|builtin)|vm\.builtin)\./.test(label));
  for (let u = 0; u < picture.nodeCount; u++) {
    const readers = items.slice(offset[u], offset[u + 1]);
    const read = readers.length > 0 && readers.every((e) => named[picture.target[e]]);
    const kind = kindOf(picture, u);
    if (
      picture.output[u] === 0 &&
      (named[u] ? !labels[u].endsWith("alloc_tensor") : read && (kind === Kind.shape || kind === Kind.constant))
    )
      out[u] = 1;
  }
  return out;
}

function outsideIn(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length);
  for (let g = 0; g < parent.length; g++) for (let h = parent[g]; h >= 0; h = parent[h]) depth[g]++;
  return Int32Array.from(parent.keys()).sort((x, y) => depth[x] - depth[y] || x - y);
}
