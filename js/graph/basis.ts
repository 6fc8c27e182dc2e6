/** What of a picture does not depend on what is open: worked out once, since every click asks for it again. */
import { Kind } from "../model/messages.ts";
import { type Rows, rowsBy } from "./csr.ts";
import { dtype } from "./labels.ts";
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

/** Of two parameters into one op, the data: whole numbers that look something up, otherwise what comes first. */
function leads(picture: Picture, other: number, own: number): boolean {
  const [a, b] = [indices(picture.edgeType[other]), indices(picture.edgeType[own])];
  return a !== b ? a : picture.index[other] < picture.index[own];
}

function indices(type: string): boolean {
  return /^u?int(32|64)$/.test(dtype(type));
}

/**
 * What is drawn as a badge on its consumers: every constant that something consumes; and a parameter wherever each of its
 * consumers has another input that comes first or is computed. So weights and biases become badges, and what flows through
 * the model stays a node. The answer is bits of sides: before a batch norm is taken apart its variance is a weight,
 * afterwards it is the beginning of a computation.
 */
function foldable(picture: Picture, inEdges: Rows, outEdges: Rows): Uint8Array {
  const kind = new Uint8Array(picture.nodeCount);
  for (let u = 0; u < picture.nodeCount; u++) {
    kind[u] = kindOf(picture, u);
  }
  const fold = new Uint8Array(picture.nodeCount);
  const data = firstParams(picture);
  for (let u = 0; u < picture.nodeCount; u++) {
    if (outEdges.offset[u] === outEdges.offset[u + 1]) continue;
    for (const side of [1, 2]) {
      if (!(picture.side[u] & side) || picture.output[u] & side) continue;
      if (
        kind[u] === Kind.constant ||
        (kind[u] === Kind.param && isWeight(picture, u, side, data[side - 1] === u, kind, inEdges, outEdges))
      )
        fold[u] |= side;
    }
  }
  return fold;
}

/** By custom a function's first parameter is its data, even where its weights are computed; only a looked-up table is not. */
function firstParams(picture: Picture): number[] {
  return picture.sides.map((graph, s) => {
    const v = graph.kind.indexOf(Kind.param);
    return v < 0 ? -1 : picture.node[s as 0 | 1][v];
  });
}

function isWeight(
  picture: Picture,
  u: number,
  side: number,
  first: boolean,
  kind: Uint8Array,
  inEdges: Rows,
  outEdges: Rows,
): boolean {
  let used = false;
  for (let i = outEdges.offset[u]; i < outEdges.offset[u + 1]; i++) {
    const e = outEdges.items[i];
    if (!(picture.edgeSide[e] & side)) continue;
    used = true;
    const consumer = picture.target[e];
    if (kind[consumer] !== Kind.op && kind[consumer] !== Kind.call) return false;
    let carried = false;
    for (let j = inEdges.offset[consumer]; j < inEdges.offset[consumer + 1] && !carried; j++) {
      const other = inEdges.items[j];
      if (!(picture.edgeSide[other] & side)) continue;
      const from = picture.source[other];
      if (from === u || kind[from] === Kind.constant) continue;
      carried = kind[from] === Kind.param ? leads(picture, other, e) : !first;
    }
    if (!carried) return false;
  }
  return used;
}
