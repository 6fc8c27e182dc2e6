/** Which constants and parameters are drawn as badges on their consumers instead of as nodes of their own. */

import { Kind } from "../model/messages.ts";
import { type Rows } from "./csr.ts";
import { dtype } from "./labels.ts";
import { kindOf, type Picture } from "./picture.ts";

/** Of two parameters into one op, the data: whole numbers that look something up, otherwise what comes first. */
function leads(picture: Picture, other: number, own: number): boolean {
  const [a, b] = [indices(picture.edgeType[other]), indices(picture.edgeType[own])];
  return a !== b ? a : picture.index[other] < picture.index[own];
}

function indices(type: string): boolean {
  return /^u?int(32|64)$/.test(dtype(type));
}

/**
 * Every constant that something consumes; and a parameter wherever each of its consumers has another input that
 * comes first or is computed. So weights and biases become badges, and what flows through the model stays a node.
 * The answer is bits of sides: before a batch norm is taken apart its variance is a weight, afterwards it is the
 * beginning of a computation.
 */
export function foldable(picture: Picture, inEdges: Rows, outEdges: Rows): Uint8Array {
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
