/**
 * The sideways problem of one level: blocks as variables, least distances between neighbours, and pulls - one for every
 * segment between two blocks, one for every place in the previous picture.
 */

import { type Rows, rowsBy } from "../graph/csr.ts";
import { type Blocks, type Ordered } from "./blocks.ts";
import { ENTRY, EXIT } from "./hierarchy.ts";
import { type LevelGraph, median } from "./level.ts";

/** Blocks, who stands left of whom at what least distance, and what pulls them together. */
export interface Row {
  count: number;
  x: Float64Array;
  /** Constraint c: x[right[c]] >= x[left[c]] + least[c]. */
  left: Uint32Array;
  right: Uint32Array;
  least: Float64Array;
  rightOf: Rows;
  leftOf: Rows;
  /** Pull p has the ends e = 2p and f = 2p + 1, each at a place in its block: weight[p] * |x[end[e]] + at[e] - x[end[f]] - at[f]|. */
  end: Uint32Array;
  at: Float64Array;
  weight: Float64Array;
  /** The ends in each block. */
  endsOf: Rows;
  /** Where the block was in the previous picture, NaN where unknown, and how many of its members were there. */
  anchor: Float64Array;
  anchorWeight: Float64Array;
}

const STUB_GAP = 14;
/**
 * Pulls by role: parameter, input, skip, data, main. Straight ones outweigh the many parameters that a layer hangs to the
 * right of the main line; others barely count, because they are slanted anyway.
 */
const STRAIGHT_PULL = [1, 3, 4, 8, 16];
const SLANTED_PULL = [0.25, 0.5, 0.5, 1, 2];
const BEND_PULL = [2, 4, 8, 8, 8];
const THROUGH_PULL = 6;
/** Pull towards the previous place, per member of a block up to a most: a long chain may still move for one change. */
const ANCHOR_PULL = 4;
const MOST_ANCHORS = 6;

export function makeRow(ordered: Ordered, blocks: Blocks): Row {
  return {
    count: blocks.count,
    x: new Float64Array(blocks.count),
    ...constraints(ordered, blocks),
    ...pulls(ordered, blocks),
    ...anchors(ordered, blocks),
  };
}

function constraints({ graph, strata, order, spacing }: Ordered, { of, shift, count }: Blocks) {
  const { width, itemCount } = strata;
  const thin = (v: number): number => (v >= itemCount ? 2 : graph.kind[v] === ENTRY || graph.kind[v] === EXIT ? 1 : 0);
  const gap = (u: number, v: number): number => {
    const a = thin(u),
      b = thin(v);
    if (a === 0 && b === 0) return spacing.nodeGap;
    if (a === 0 || b === 0) return spacing.nodeGap * 0.7;
    return Math.min(STUB_GAP, spacing.nodeGap);
  };
  const left: number[] = [],
    right: number[] = [],
    least: number[] = [];
  const known = new Map<number, number>();
  for (let l = 0; l < strata.layerCount; l++)
    for (let i = order.start[l]; i + 1 < order.start[l + 1]; i++) {
      const u = order.vertex[i],
        v = order.vertex[i + 1];
      const need = (width[u] + width[v]) / 2 + gap(u, v) + shift[u] - shift[v];
      // Long neighbours meet in every layer: one constraint a pair is enough.
      const key = of[u] * count + of[v],
        c = known.get(key);
      if (c === undefined) {
        known.set(key, left.push(of[u]) - 1);
        right.push(of[v]);
        least.push(need);
      } else least[c] = Math.max(least[c], need);
    }
  return {
    left: Uint32Array.from(left),
    right: Uint32Array.from(right),
    least: Float64Array.from(least),
    rightOf: rowsBy(left, count),
    leftOf: rowsBy(right, count),
  };
}

function pulls({ graph, strata, role, above, below }: Ordered, { of, shift, count, straight }: Blocks) {
  const [end, at, weight]: number[][] = [[], [], []];
  const pull = (u: number, fromU: number, v: number, fromV: number, by: number): void => {
    if (of[u] === of[v]) return;
    end.push(of[u], of[v]);
    at.push(shift[u] + fromU, shift[v] + fromV);
    weight.push(by);
  };
  for (let s = 0; s < strata.source.length; s++) {
    const u = strata.source[s],
      v = strata.target[s];
    const by = u >= strata.itemCount && v >= strata.itemCount ? BEND_PULL : straight[s] ? STRAIGHT_PULL : SLANTED_PULL;
    pull(u, strata.sourceShift[s], v, strata.targetShift[s], by[role[s]]);
  }
  // A group whose main way in is straight above its main way out lets the level around it run straight as well.
  const main = graph.mainEntry.indexOf(1);
  const entry = main >= 0 ? main : longest(graph, ENTRY, below),
    exit = longest(graph, EXIT, above);
  if (entry >= 0 && exit >= 0) pull(entry, 0, exit, 0, THROUGH_PULL);
  return {
    end: Uint32Array.from(end),
    at: Float64Array.from(at),
    weight: Float64Array.from(weight),
    endsOf: rowsBy(end, count),
  };
}

function longest(graph: LevelGraph, kind: number, length: Float64Array): number {
  let best = -1;
  for (let i = 0; i < graph.kind.length; i++)
    if (graph.kind[i] === kind && (best < 0 || length[i] > length[best])) best = i;
  return best;
}

function anchors({ graph, strata }: Ordered, { of, shift, count }: Blocks) {
  const sum = new Float64Array(count),
    known = new Float64Array(count);
  for (let v = 0; v < strata.itemCount; v++) {
    if (Number.isNaN(graph.seedX[v])) continue;
    sum[of[v]] += graph.seedX[v] - shift[v];
    known[of[v]]++;
  }
  return {
    anchor: sum.map((s, b) => s / known[b]),
    anchorWeight: known.map((n) => Math.min(n, MOST_ANCHORS) * ANCHOR_PULL),
  };
}

/** Seeds are known up to a translation: the one that moves the fewest blocks from where they now are. */
export function moveAnchorsTo({ x, anchor }: Row): void {
  const apart: number[] = [];
  for (let b = 0; b < x.length; b++) if (!Number.isNaN(anchor[b])) apart.push(x[b] - anchor[b]);
  if (apart.length === 0) return;
  const shift = median(apart);
  for (let b = 0; b < x.length; b++) anchor[b] += shift;
}
