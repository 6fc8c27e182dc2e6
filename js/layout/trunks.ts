/**
 * Moves a whole trunk at once: all of its bends are taken out and put back along the way through the layers that
 * crosses least, found by dynamic programming over the slots of each layer. Vertex by vertex, a long wire never gets
 * from one side of a picture to the other, because half way costs more than either end.
 */
import { type Order, put } from "./order.ts";
import { type NeighbourPlaces } from "./places.ts";

/** Slot pairs of two neighbouring layers; wider ones are left to sifting. */
const MOST_PAIRS = 40_000;

export class TrunkMover {
  private readonly trunks: { first: number; length: number }[] = [];
  /** Of the gap at hand. */
  private readonly crossed = new Gap();

  constructor(private readonly places: NeighbourPlaces) {
    const { itemCount, count, up, source } = places.strata;
    for (let v = itemCount; v < count; v++) {
      if (source[up.items[up.offset[v]]] < itemCount) this.trunks.push({ first: v, length: 1 });
      else this.trunks[this.trunks.length - 1].length++;
    }
  }

  /** One round over all trunks, stopping when the work done so far reaches `budget`. */
  improve(order: Order, budget: number): boolean {
    let moved = false;
    for (const { first, length } of this.trunks) {
      if (this.places.work > budget) break;
      moved = this.moveTrunk(order, first, length) || moved;
    }
    return moved;
  }

  private moveTrunk(order: Order, first: number, length: number): boolean {
    const { strata } = this.places;
    const top = strata.layer[first];
    const slots = (k: number): number => order.start[top + k + 1] - order.start[top + k];
    for (let k = 0; k < length; k++) if (slots(k) * (k > 0 ? slots(k - 1) : 1) > MOST_PAIRS) return false;
    if (Array.from({ length }, (_, k) => slots(k)).every((n) => n === 1)) return false;

    // cost[p]: least crossings of the trunk down to layer k with its bend there in slot p; from: the slot above.
    let cost: number[] = Array(slots(0)),
      gap = this.gap(order, top - 1, -1, first);
    const source = order.position[strata.source[strata.up.items[strata.up.offset[first]]]];
    for (let p = 0; p < cost.length; p++) cost[p] = gap.between(source, source + 1, p, p);
    const from: number[][] = [];
    let current = cost[order.position[first]];
    for (let k = 0; k < length; k++) {
      const bend = first + k,
        next = k + 1 < length ? bend + 1 : -1,
        here = order.position[bend];
      gap = this.gap(order, top + k, bend, next);
      for (let i = strata.down.offset[bend]; i < strata.down.offset[bend + 1]; i++) {
        const t = strata.target[strata.down.items[i]];
        if (t === next) continue;
        const at = order.position[t] - (next >= 0 && order.position[t] > order.position[next] ? 1 : 0);
        for (let p = 0; p < cost.length; p++) cost[p] += gap.between(p, p, at, at + 1);
        current += gap.between(here, here, at, at + 1);
      }
      if (next < 0) break;
      const below: number[] = Array(slots(k + 1)).fill(Infinity),
        back: number[] = Array(below.length).fill(0);
      for (let q = 0; q < below.length; q++)
        for (let p = 0; p < cost.length; p++) {
          const sum = cost[p] + gap.between(p, p, q, q);
          // Among equals, the slot nearest above keeps the trunk straight.
          if (sum < below[q] || (sum === below[q] && Math.abs(p - q) < Math.abs(back[q] - q))) {
            below[q] = sum;
            back[q] = p;
          }
        }
      current += gap.between(here, here, order.position[next], order.position[next]);
      from.push(back);
      cost = below;
    }
    let slot = cost.indexOf(cost.reduce((a, b) => Math.min(a, b)));
    if (cost[slot] >= current) return false;
    for (let k = length - 1; k >= 0; k--) {
      put(order, top + k, first + k, slot);
      if (k > 0) slot = from[k - 1][slot];
    }
    return true;
  }

  /** The segments between layer l and the next, without those of the vertices a (in l) and b (below). */
  private gap(order: Order, l: number, a: number, b: number): Gap {
    const { down, target } = this.places.strata;
    const { start, vertex, position } = order;
    const rows = start[l + 1] - start[l] + 1,
      columns = start[l + 2] - start[l + 1] + 1;
    const { crossed: gap } = this;
    gap.clear(rows, columns);
    for (let i = start[l]; i < start[l + 1]; i++) {
      const u = vertex[i];
      if (u === a) continue;
      const row = i - start[l] - (a >= 0 && i - start[l] > position[a] ? 1 : 0);
      for (let k = down.offset[u]; k < down.offset[u + 1]; k++) {
        const v = target[down.items[k]];
        if (v !== b) gap.add(row, position[v] - (b >= 0 && position[v] > position[b] ? 1 : 0));
      }
    }
    gap.sum();
    this.places.work += rows * columns;
    return gap;
  }
}

/** Counts, for a line between two layers, the segments that start on one side of it and end on the other. */
class Gap {
  private before = new Uint32Array(1024);
  private rows = 0;
  private columns = 0;

  clear(rows: number, columns: number): void {
    const size = (rows + 1) * (columns + 1);
    if (this.before.length < size) this.before = new Uint32Array(2 * size);
    else this.before.fill(0, 0, size);
    this.rows = rows;
    this.columns = columns;
  }

  add(row: number, column: number): void {
    this.before[(row + 1) * (this.columns + 1) + column + 1]++;
  }

  /** Turns counts into sums: before[i][j] is the number of segments with row < i and column < j. */
  sum(): void {
    const { before, rows, columns } = this,
      width = columns + 1;
    for (let i = 1; i <= rows; i++)
      for (let j = 1, line = 0; j <= columns; j++) {
        line += before[i * width + j];
        before[i * width + j] = before[(i - 1) * width + j] + line;
      }
  }

  /**
   * Segments crossed by a line whose upper end has the rows below `left` on its left and those from `right` on on its
   * right (left = right in a slot between vertices, left + 1 = right on a vertex), and likewise for its lower end.
   */
  between(left: number, right: number, leftBelow: number, rightBelow: number): number {
    const { before, rows, columns } = this,
      width = columns + 1;
    const upperLeft = before[left * width + columns] - before[left * width + rightBelow];
    const upperRight = before[rows * width + leftBelow] - before[right * width + leftBelow];
    return upperLeft + upperRight;
  }
}
