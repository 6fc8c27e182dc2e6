/** A first feasible answer to the sideways problem: blocks packed to both sides, and the middle of the two. */
import { type Row } from "./row.ts";

/** Every block after all blocks left of it (Kahn). Links do not cross, so the relation has no cycle. */
export function leftToRight(row: Row): Uint32Array {
  const waiting = new Uint32Array(row.count),
    sequence = new Uint32Array(row.count);
  for (const b of row.right) waiting[b]++;
  let filled = 0;
  for (let b = 0; b < row.count; b++) if (waiting[b] === 0) sequence[filled++] = b;
  for (let i = 0; i < filled; i++)
    for (let k = row.rightOf.offset[sequence[i]]; k < row.rightOf.offset[sequence[i] + 1]; k++)
      if (--waiting[row.right[row.rightOf.items[k]]] === 0) sequence[filled++] = row.right[row.rightOf.items[k]];
  return sequence;
}

/** Half way between packed to the left and packed to the right; the packed width. */
export function compact(row: Row, sequence: Uint32Array): number {
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
