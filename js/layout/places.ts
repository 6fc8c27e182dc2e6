/**
 * Where the neighbours of a layer's vertices are, in the layers above and below: for each vertex two sorted lists of
 * places (index in the layer plus the port's share of one), gathered once per layer because neighbours stay put
 * while one layer is rearranged.
 */
import { type Rows } from "./level.ts";
import { type Order } from "./order.ts";
import { type Strata } from "./strata.ts";

/** Lists up to this length are sorted by insertion. */
const LONG = 24;

export class NeighbourPlaces {
  /** Units of work done so far, about one place visited each. */
  work = 0;
  private readonly above: Float64Array;
  private readonly below: Float64Array;

  constructor(private readonly strata: Strata) {
    this.above = new Float64Array(strata.source.length);
    this.below = new Float64Array(strata.source.length);
  }

  gatherLayer(order: Order, l: number): void {
    const { up, down, source, target, sourcePort, targetPort, portsBelow, portsAbove } = this.strata;
    for (let i = order.start[l]; i < order.start[l + 1]; i++) {
      gather(order, up, order.vertex[i], source, sourcePort, portsBelow, this.above);
      gather(order, down, order.vertex[i], target, targetPort, portsAbove, this.below);
    }
  }

  /** Crossings removed by exchanging a and b, neighbours in the gathered layer with a on the left. */
  gain(a: number, b: number): number {
    return this.side(this.strata.up, this.above, a, b) + this.side(this.strata.down, this.below, a, b);
  }

  /** Pairs (x of a, y of b) with x > y, less those with x < y: both lists in one merge. */
  private side(rows: Rows, places: Float64Array, a: number, b: number): number {
    const a0 = rows.offset[a],
      a1 = rows.offset[a + 1],
      b0 = rows.offset[b],
      b1 = rows.offset[b + 1];
    this.work += a1 - a0 + b1 - b0 + 1;
    if (a0 === a1 || b0 === b1) return 0;
    let sum = 0;
    for (let i = a0, less = b0, notMore = b0; i < a1; i++) {
      while (less < b1 && places[less] < places[i]) less++;
      while (notMore < b1 && places[notMore] <= places[i]) notMore++;
      sum += less - b0 - (b1 - notMore);
    }
    return sum;
  }
}

function gather(
  order: Order,
  rows: Rows,
  v: number,
  far: Uint32Array,
  port: Uint16Array,
  ports: Uint16Array,
  into: Float64Array,
): void {
  const from = rows.offset[v],
    to = rows.offset[v + 1];
  for (let k = from; k < to; k++) {
    const s = rows.items[k],
      u = far[s];
    const place = order.position[u] + (port[s] + 1) / (ports[u] + 1);
    let i = k;
    if (to - from <= LONG) for (; i > from && into[i - 1] > place; i--) into[i] = into[i - 1];
    into[i] = place;
  }
  if (to - from > LONG) into.subarray(from, to).sort();
}
