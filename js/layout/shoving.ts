/**
 * Moves rows of touching blocks together. A block that is held by a neighbour takes it along, and that one the
 * next, as far as the whole row gains: the step between vertices of the placement's linear programme that single
 * blocks cannot make.
 */
import { type Row } from "./row.ts";

const BUDGET = 400_000;
const TOUCH = 0.01;

export function shove(row: Row, sequence: Uint32Array): boolean {
  const inRow = new Uint32Array(row.count);
  const members: number[] = [];
  let stamp = 0,
    work = 0,
    any = false;

  /** The blocks that must move when b moves in this direction. */
  const collect = (b: number, direction: number): void => {
    stamp++;
    members.length = 0;
    members.push(b);
    inRow[b] = stamp;
    for (let i = 0; i < members.length; i++) {
      const rows = direction > 0 ? row.rightOf : row.leftOf;
      for (let k = rows.offset[members[i]]; k < rows.offset[members[i] + 1]; k++, work++) {
        const c = rows.items[k],
          next = direction > 0 ? row.right[c] : row.left[c];
        if (inRow[next] === stamp || row.x[row.right[c]] - row.x[row.left[c]] - row.least[c] > TOUCH) continue;
        inRow[next] = stamp;
        members.push(next);
      }
    }
  };

  /** How far the collected row can go until a segment is straight or a further block is touched; 0 if it gains nothing. */
  const step = (direction: number): number => {
    let slope = 0,
      room = Infinity;
    const feel = (lead: number, weight: number): void => {
      if (lead >= -TOUCH) slope += weight;
      else {
        slope -= weight;
        room = Math.min(room, -lead);
      }
    };
    for (const b of members) {
      const rows = direction > 0 ? row.rightOf : row.leftOf;
      for (let k = rows.offset[b]; k < rows.offset[b + 1]; k++, work++) {
        const c = rows.items[k];
        if (inRow[direction > 0 ? row.right[c] : row.left[c]] === stamp) continue;
        room = Math.min(room, row.x[row.right[c]] - row.x[row.left[c]] - row.least[c]);
      }
      for (let k = row.pullsA.offset[b]; k < row.pullsA.offset[b + 1]; k++, work++) {
        const p = row.pullsA.items[k];
        if (inRow[row.b[p]] === stamp) continue;
        feel(direction * (row.x[b] + row.da[p] - row.x[row.b[p]] - row.db[p]), row.weight[p]);
      }
      for (let k = row.pullsB.offset[b]; k < row.pullsB.offset[b + 1]; k++, work++) {
        const p = row.pullsB.items[k];
        if (inRow[row.a[p]] === stamp) continue;
        feel(direction * (row.x[b] + row.db[p] - row.x[row.a[p]] - row.da[p]), row.weight[p]);
      }
      if (!Number.isNaN(row.anchor[b])) feel(direction * (row.x[b] - row.anchor[b]), row.anchorWeight[b]);
    }
    return slope < 0 && Number.isFinite(room) && room > TOUCH ? room : 0;
  };

  for (let pass = 0, moved = true; moved && pass < 4 && work < BUDGET; pass++) {
    moved = false;
    for (let i = 0; i < row.count && work < BUDGET; i++)
      for (const direction of [1, -1])
        for (let tries = 0; tries < 20 && work < BUDGET; tries++) {
          collect(sequence[i], direction);
          const length = step(direction);
          if (length === 0) break;
          for (const b of members) row.x[b] += direction * length;
          moved = any = true;
        }
  }
  return any;
}
