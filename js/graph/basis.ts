/** What of a picture does not depend on what is open: worked out once, since every click asks for it again. */

import { Kind } from "../model/messages.ts";
import { type Adjacency, adjacency } from "./csr.ts";
import { foldable } from "./fold.ts";
import { type Picture, sideOf } from "./picture.ts";

interface Basis {
  inEdges: Adjacency;
  outEdges: Adjacency;
  /** Bits of the sides on which a node can be a badge on its consumers. */
  folds: Uint8Array;
  /** 1 for tuples, and what takes them apart, that can be a mark on an edge. */
  elided: Uint8Array;
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
  const inEdges = adjacency(picture.target, picture.nodeCount);
  const outEdges = adjacency(picture.source, picture.nodeCount);
  const elided = new Uint8Array(picture.nodeCount);
  for (let u = 0; u < picture.nodeCount; u++) {
    const s = sideOf(picture, u, 1);
    const kind = picture.sides[s].kind[picture.id[s][u]];
    const consumed = outEdges.offset[u + 1] > outEdges.offset[u];
    if ((kind === Kind.tuple || kind === Kind.get_item) && (consumed || kind === Kind.tuple)) elided[u] = 1;
  }
  return {
    inEdges,
    outEdges,
    folds: foldable(picture, inEdges, outEdges),
    elided,
    groupOrder: outsideIn(picture.groups.parent),
  };
}

function outsideIn(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length);
  for (let g = 0; g < parent.length; g++) for (let h = parent[g]; h >= 0; h = parent[h]) depth[g]++;
  return Int32Array.from(parent.keys()).sort((x, y) => depth[x] - depth[y] || x - y);
}
