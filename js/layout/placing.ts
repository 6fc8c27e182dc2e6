/**
 * x coordinates: minimises the weighted sideways length of all segments, a linear programme that Gansner et al.
 * (1993) solve exactly; here blocks keep chains straight from the start, so that few variables are left, and
 * two monotone moves bring them close to the optimum in near-linear time: a block goes to the weighted median of
 * its neighbours as far as there is room, and a block that is held up takes the row that holds it along (shoving.ts).
 */
import { alignBlocks, segmentRoles } from "./blocks";
import { ENTRY, EXIT } from "./hierarchy";
import { rowsBy, type LevelGraph, type Rows, type Spacing } from "./level";
import type { Order } from "./order";
import { shove } from "./shoving";
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
  /** Where the block was in the previous picture, NaN where unknown. */
  anchor: Float64Array;
}

const STUB_GAP = 14;
/** Pull of a segment by role: parameter, input, skip, data. */
const PULL = [1, 1.5, 3, 3];
const ANCHOR_PULL = 1.5;
const SWEEPS = 10;

export function placeVertices(graph: LevelGraph, strata: Strata, order: Order, spacing: Spacing): Float64Array {
  const role = segmentRoles(graph, strata);
  const blocks = alignBlocks(graph, strata, order, role);
  const row: Row = { ...constraints(graph, strata, order, blocks.of, blocks.shift, blocks.count, spacing), ...pulls(strata, blocks.of, blocks.shift, blocks.count, role), count: blocks.count, x: new Float64Array(blocks.count), anchor: anchors(graph, strata, blocks.of, blocks.shift, blocks.count) };
  const sequence = leftToRight(row);
  compact(row, sequence);
  const sweeps = Math.max(3, Math.min(SWEEPS, Math.floor(2_000_000 / (1 + row.a.length + row.left.length))));
  for (let i = 0; i < sweeps; i++) if (!medianSweep(row, sequence)) break;
  if (shove(row, sequence)) for (let i = 0; i < 2; i++) medianSweep(row, sequence);
  const x = new Float64Array(strata.count);
  for (let v = 0; v < strata.count; v++) x[v] = row.x[blocks.of[v]] + blocks.shift[v];
  return x;
}

function constraints(
  graph: LevelGraph, strata: Strata, order: Order, of: Int32Array, shift: Float64Array, count: number, spacing: Spacing,
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

function pulls(strata: Strata, of: Int32Array, shift: Float64Array, count: number, role: Uint8Array) {
  const a: number[] = [], b: number[] = [], da: number[] = [], db: number[] = [], weight: number[] = [];
  for (let s = 0; s < strata.source.length; s++) {
    const u = strata.source[s], v = strata.target[s];
    if (of[u] === of[v]) continue;
    a.push(of[u]); da.push(shift[u] + strata.sourceShift[s]);
    b.push(of[v]); db.push(shift[v] + strata.targetShift[s]);
    weight.push(PULL[role[s]]);
  }
  return {
    a: Uint32Array.from(a), b: Uint32Array.from(b), da: Float64Array.from(da), db: Float64Array.from(db),
    weight: Float64Array.from(weight), pullsA: rowsBy(a, count), pullsB: rowsBy(b, count),
  };
}

function anchors(graph: LevelGraph, strata: Strata, of: Int32Array, shift: Float64Array, count: number): Float64Array {
  const sum = new Float64Array(count), known = new Uint32Array(count);
  for (let v = 0; v < strata.itemCount; v++) {
    if (Number.isNaN(graph.seed[v])) continue;
    sum[of[v]] += graph.seed[v] - shift[v];
    known[of[v]]++;
  }
  return sum.map((s, b) => s / known[b]);
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

/** Half way between packed to the left and packed to the right. */
function compact(row: Row, sequence: Uint32Array): void {
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
  if (!Number.isNaN(row.anchor[b])) stop(row.anchor[b], ANCHOR_PULL);
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
