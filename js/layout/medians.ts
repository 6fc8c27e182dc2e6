/** The quick descent: one block at a time, to the weighted median of what pulls it. */
import { type Row } from "./row.ts";

const stops: { at: number; weight: number }[] = [];

/** Each block to the weighted median of its neighbours, within its room: right to left, then left to right. */
export function medianSweep(row: Row, sequence: Uint32Array): boolean {
  let moved = false;
  for (let i = row.count - 1; i >= 0; i--) moved = toMedian(row, sequence[i]) || moved;
  for (let i = 0; i < row.count; i++) moved = toMedian(row, sequence[i]) || moved;
  return moved;
}

function toMedian(row: Row, b: number): boolean {
  const { x } = row;
  stops.length = 0;
  let total = 0;
  const stop = (at: number, weight: number): void => {
    stops.push({ at, weight });
    total += weight;
  };
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
  let i = 0,
    passed = stops[0].weight;
  while (passed < total / 2) passed += stops[++i].weight;
  // Between two equal halves every place is as good: the middle looks best.
  const want = passed === total / 2 && i + 1 < stops.length ? (stops[i].at + stops[i + 1].at) / 2 : stops[i].at;
  let low = -Infinity,
    high = Infinity;
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
