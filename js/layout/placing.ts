/**
 * x coordinates: minimises the weighted sideways length of all segments, a linear programme that Gansner et al.
 * (1993) solve exactly; here blocks keep chains straight from the start, so that few variables are left, and
 * two monotone moves bring them close to the optimum in near-linear time: a block goes to the weighted median of
 * its neighbours as far as there is room, and a block that is held up takes the row that holds it along (shoving.ts).
 */
import { alignBlocks, pathLengths, segmentRoles, type Blocks, type PathLengths } from "./blocks";
import { ENTRY, EXIT } from "./hierarchy";
import { median, rowsBy, type LevelGraph, type Rows, type Spacing } from "./level";
import type { Order } from "./order";
import { shove } from "./shoving";
import { NetworkSimplex } from "./simplex";
import type { Strata } from "./strata";

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
  /** Pull p: weight[p] * |x[a[p]] + da[p] - x[b[p]] - db[p]|. */
  a: Uint32Array;
  b: Uint32Array;
  da: Float64Array;
  db: Float64Array;
  weight: Float64Array;
  pullsA: Rows;
  pullsB: Rows;
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
const SWEEPS = 10;
/** Variables and pulls that the simplex is still quick for, and the work it may do. */
const EXACT_LIMIT = 40_000;
const SIMPLEX_BUDGET = 10_000_000;
const FAR = 1e6;
/** Vertices and segments of a level whose chains may be loosened, and how wide rigid ones must make it first. */
const LOOSE_LIMIT = 16_000;
const WIDE = 1.6;

export function placeVertices(graph: LevelGraph, strata: Strata, order: Order, spacing: Spacing): Float64Array {
  const role = segmentRoles(graph, strata);
  const lengths = pathLengths(graph, strata, order);
  const small = strata.count + strata.source.length < LOOSE_LIMIT;
  let plan = prepare(graph, strata, order, spacing, role, lengths, true);
  // Rigid chains lean on each other: in a dense graph they make a wide staircase. There, links only pull.
  if (small && plan.width > WIDE * widestLayer(strata, order, spacing)) plan = prepare(graph, strata, order, spacing, role, lengths, false);
  const { row, blocks, sequence } = plan;
  const exact = row.count + 2 * row.a.length < EXACT_LIMIT;
  const sweeps = exact ? 3 : Math.max(3, Math.min(SWEEPS, Math.floor(2_000_000 / (1 + row.a.length + row.left.length))));
  for (let i = 0; i < sweeps; i++) if (!medianSweep(row, sequence)) break;
  if (exact) solveExactly(row);
  else if (shove(row, sequence)) medianSweep(row, sequence);
  const x = new Float64Array(strata.count);
  for (let v = 0; v < strata.count; v++) x[v] = row.x[blocks.of[v]] + blocks.shift[v];
  return x;
}

function prepare(
  graph: LevelGraph, strata: Strata, order: Order, spacing: Spacing, role: Uint8Array, lengths: PathLengths, rigid: boolean,
) {
  const blocks = alignBlocks(graph, strata, order, role, lengths, rigid);
  const row: Row = {
    count: blocks.count, x: new Float64Array(blocks.count),
    ...constraints(graph, strata, order, blocks, spacing), ...pulls(graph, strata, blocks, role, lengths),
    ...anchors(graph, strata, blocks),
  };
  const sequence = leftToRight(row);
  const width = compact(row, sequence);
  moveAnchorsTo(row);
  return { blocks, row, sequence, width };
}

/** No picture can be narrower than this. */
function widestLayer(strata: Strata, order: Order, spacing: Spacing): number {
  let widest = 0;
  for (let l = 0; l < strata.layerCount; l++) {
    let width = 0;
    for (let i = order.start[l]; i < order.start[l + 1]; i++) width += strata.width[order.vertex[i]] + spacing.nodeGap;
    widest = Math.max(widest, width);
  }
  return widest;
}

function constraints(
  graph: LevelGraph, strata: Strata, order: Order, { of, shift, count }: Blocks, spacing: Spacing,
) {
  const { width, itemCount } = strata;
  const thin = (v: number): number => (v >= itemCount ? 2 : graph.kind[v] === ENTRY || graph.kind[v] === EXIT ? 1 : 0);
  const gap = (u: number, v: number): number => {
    const a = thin(u), b = thin(v);
    if (a === 0 && b === 0) return spacing.nodeGap;
    if (a === 0 || b === 0) return spacing.nodeGap * 0.7;
    return Math.min(STUB_GAP, spacing.nodeGap);
  };
  const left: number[] = [], right: number[] = [], least: number[] = [];
  const known = new Map<number, number>();
  for (let l = 0; l < strata.layerCount; l++)
    for (let i = order.start[l]; i + 1 < order.start[l + 1]; i++) {
      const u = order.vertex[i], v = order.vertex[i + 1];
      const need = (width[u] + width[v]) / 2 + gap(u, v) + shift[u] - shift[v];
      // Long neighbours meet in every layer: one constraint a pair is enough.
      const key = of[u] * count + of[v], c = known.get(key);
      if (c === undefined) known.set(key, left.push(of[u]) - 1), right.push(of[v]), least.push(need);
      else least[c] = Math.max(least[c], need);
    }
  return {
    left: Uint32Array.from(left), right: Uint32Array.from(right), least: Float64Array.from(least),
    rightOf: rowsBy(left, count), leftOf: rowsBy(right, count),
  };
}

function pulls(graph: LevelGraph, strata: Strata, { of, shift, count, straight }: Blocks, role: Uint8Array, lengths: PathLengths) {
  const a: number[] = [], b: number[] = [], da: number[] = [], db: number[] = [], weight: number[] = [];
  for (let s = 0; s < strata.source.length; s++) {
    const u = strata.source[s], v = strata.target[s];
    if (of[u] === of[v]) continue;
    a.push(of[u]); da.push(shift[u] + strata.sourceShift[s]);
    b.push(of[v]); db.push(shift[v] + strata.targetShift[s]);
    const pull = u >= strata.itemCount && v >= strata.itemCount ? BEND_PULL : straight[s] ? STRAIGHT_PULL : SLANTED_PULL;
    weight.push(pull[role[s]]);
  }
  // A group whose main way in is straight above its main way out lets the level around it run straight as well.
  const main = graph.mainEntry.indexOf(1);
  const entry = main >= 0 ? main : longest(graph, ENTRY, lengths.below), exit = longest(graph, EXIT, lengths.above);
  if (entry >= 0 && exit >= 0 && of[entry] !== of[exit]) {
    a.push(of[entry]); da.push(shift[entry]);
    b.push(of[exit]); db.push(shift[exit]);
    weight.push(THROUGH_PULL);
  }
  return {
    a: Uint32Array.from(a), b: Uint32Array.from(b), da: Float64Array.from(da), db: Float64Array.from(db),
    weight: Float64Array.from(weight), pullsA: rowsBy(a, count), pullsB: rowsBy(b, count),
  };
}

function longest(graph: LevelGraph, kind: number, length: Float64Array): number {
  let best = -1;
  for (let i = 0; i < graph.kind.length; i++)
    if (graph.kind[i] === kind && (best < 0 || length[i] > length[best])) best = i;
  return best;
}

function anchors(graph: LevelGraph, strata: Strata, { of, shift, count }: Blocks) {
  const sum = new Float64Array(count), known = new Float64Array(count);
  for (let v = 0; v < strata.itemCount; v++) {
    if (Number.isNaN(graph.seedX[v])) continue;
    sum[of[v]] += graph.seedX[v] - shift[v];
    known[of[v]]++;
  }
  return { anchor: sum.map((s, b) => s / known[b]), anchorWeight: known.map((n) => Math.min(n, MOST_ANCHORS) * ANCHOR_PULL) };
}

/** Seeds are known up to a translation: the one that moves the fewest blocks from where they now are. */
function moveAnchorsTo({ x, anchor }: Row): void {
  const apart: number[] = [];
  for (let b = 0; b < x.length; b++) if (!Number.isNaN(anchor[b])) apart.push(x[b] - anchor[b]);
  if (apart.length === 0) return;
  const shift = median(apart);
  for (let b = 0; b < x.length; b++) anchor[b] += shift;
}

/** The optimum by network simplex: a node per pull turns |x - y| into two arcs (Gansner et al., section 4.2). */
function solveExactly(row: Row): void {
  const { count, a, b, da, db } = row;
  const anchored: { block: number; node: number; at: number; weight: number }[] = [];
  for (let i = 0; i < count; i++)
    if (!Number.isNaN(row.anchor[i])) anchored.push({ block: i, node: count + a.length + anchored.length, at: row.anchor[i], weight: row.anchorWeight[i] });
  const root = count + a.length + anchored.length;
  const from: number[] = [], to: number[] = [], least: number[] = [], weight: number[] = [];
  const arc = (f: number, t: number, l: number, w: number): void => { from.push(f); to.push(t); least.push(l); weight.push(w); };
  const position = new Float64Array(root + 1);
  position.set(row.x);
  for (let c = 0; c < row.left.length; c++) arc(row.left[c], row.right[c], row.least[c], 0);
  for (let p = 0; p < a.length; p++) {
    const la = Math.max(0, db[p] - da[p]), lb = Math.max(0, da[p] - db[p]);
    arc(count + p, a[p], la, row.weight[p]);
    arc(count + p, b[p], lb, row.weight[p]);
    position[count + p] = Math.min(row.x[a[p]] - la, row.x[b[p]] - lb);
  }
  for (const { block, node, at, weight: pull } of anchored) {
    const la = Math.max(0, -at), lb = Math.max(0, at);
    arc(node, root, la, pull);
    arc(node, block, lb, pull);
    position[node] = Math.min(-la, row.x[block] - lb);
  }
  // The root stands still at 0 for the anchors; otherwise it only joins what nothing else joins, and holds nobody back.
  for (let i = 0; i < count; i++) if (row.leftOf.offset[i] === row.leftOf.offset[i + 1]) arc(root, i, -FAR, 0);
  new NetworkSimplex({ from, to, least, weight }, position).solve(SIMPLEX_BUDGET);
  row.x.set(position.subarray(0, count));
}

/** Every block after all blocks left of it (Kahn). Links do not cross, so the relation has no cycle. */
function leftToRight(row: Row): Uint32Array {
  const waiting = new Uint32Array(row.count), sequence = new Uint32Array(row.count);
  for (const b of row.right) waiting[b]++;
  let filled = 0;
  for (let b = 0; b < row.count; b++) if (waiting[b] === 0) sequence[filled++] = b;
  for (let i = 0; i < filled; i++)
    for (let k = row.rightOf.offset[sequence[i]]; k < row.rightOf.offset[sequence[i] + 1]; k++)
      if (--waiting[row.right[row.rightOf.items[k]]] === 0) sequence[filled++] = row.right[row.rightOf.items[k]];
  return sequence;
}

/** Half way between packed to the left and packed to the right; the packed width. */
function compact(row: Row, sequence: Uint32Array): number {
  const { x, left, right, least, leftOf, rightOf } = row;
  let widest = 0;
  for (const b of sequence) {
    let at = 0;
    for (let k = leftOf.offset[b]; k < leftOf.offset[b + 1]; k++) {
      const c = leftOf.items[k];
      at = Math.max(at, x[left[c]] + least[c]);
    }
    x[b] = at;
    widest = Math.max(widest, at);
  }
  const far = new Float64Array(row.count);
  for (let i = row.count - 1; i >= 0; i--) {
    const b = sequence[i];
    let at = widest;
    for (let k = rightOf.offset[b]; k < rightOf.offset[b + 1]; k++) {
      const c = rightOf.items[k];
      at = Math.min(at, far[right[c]] - least[c]);
    }
    far[b] = at;
  }
  for (let b = 0; b < row.count; b++) x[b] = (x[b] + far[b]) / 2;
  return widest;
}

const stops: { at: number; weight: number }[] = [];

/** Each block to the weighted median of its neighbours, within its room: right to left, then left to right. */
function medianSweep(row: Row, sequence: Uint32Array): boolean {
  let moved = false;
  for (let i = row.count - 1; i >= 0; i--) moved = toMedian(row, sequence[i]) || moved;
  for (let i = 0; i < row.count; i++) moved = toMedian(row, sequence[i]) || moved;
  return moved;
}

function toMedian(row: Row, b: number): boolean {
  const { x } = row;
  stops.length = 0;
  let total = 0;
  const stop = (at: number, weight: number): void => { stops.push({ at, weight }); total += weight; };
  for (let k = row.pullsA.offset[b]; k < row.pullsA.offset[b + 1]; k++) {
    const p = row.pullsA.items[k];
    stop(x[row.b[p]] + row.db[p] - row.da[p], row.weight[p]);
  }
  for (let k = row.pullsB.offset[b]; k < row.pullsB.offset[b + 1]; k++) {
    const p = row.pullsB.items[k];
    stop(x[row.a[p]] + row.da[p] - row.db[p], row.weight[p]);
  }
  if (!Number.isNaN(row.anchor[b])) stop(row.anchor[b], row.anchorWeight[b]);
  if (stops.length === 0) return false;
  stops.sort((p, q) => p.at - q.at);
  let i = 0, passed = stops[0].weight;
  while (passed < total / 2) passed += stops[++i].weight;
  // Between two equal halves every place is as good: the middle looks best.
  const want = passed === total / 2 && i + 1 < stops.length ? (stops[i].at + stops[i + 1].at) / 2 : stops[i].at;
  let low = -Infinity, high = Infinity;
  for (let k = row.leftOf.offset[b]; k < row.leftOf.offset[b + 1]; k++) {
    const c = row.leftOf.items[k];
    low = Math.max(low, x[row.left[c]] + row.least[c]);
  }
  for (let k = row.rightOf.offset[b]; k < row.rightOf.offset[b + 1]; k++) {
    const c = row.rightOf.items[k];
    high = Math.min(high, x[row.right[c]] - row.least[c]);
  }
  const at = Math.max(low, Math.min(high, want));
  if (Math.abs(at - x[b]) < 0.01) return false;
  x[b] = at;
  return true;
}
