/**
 * Where the neighbours of a layer's vertices are, in the layers above and below: for each vertex two sorted lists of
 * places (index in the layer plus the port's share of one), gathered once per layer because neighbours stay put
 * while one layer is rearranged. The two that rearrange a layer by them: exchanges of neighbours, and sifting.
 */
import { type Rows } from "../graph/csr.ts";
import { type Order, put, renumber } from "./order.ts";
import { type Side, type Strata } from "./strata.ts";

/** Lists up to this length are sorted by insertion. */
const LONG = 24;

export class NeighbourPlaces {
  /** Units of work done so far, about one place visited each. */
  work = 0;
  private readonly above: Float64Array;
  private readonly below: Float64Array;

  constructor(readonly strata: Strata) {
    this.above = new Float64Array(strata.source.length);
    this.below = new Float64Array(strata.source.length);
  }

  gatherLayer(order: Order, l: number): void {
    const { upper, lower } = this.strata;
    for (let i = order.start[l]; i < order.start[l + 1]; i++) {
      gather(order, upper, order.vertex[i], this.above);
      gather(order, lower, order.vertex[i], this.below);
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

/** Where the far end of a segment is in its layer. */
export function placeOf({ position }: Order, { far, port, ports }: Side, segment: number): number {
  return position[far[segment]] + (port[segment] + 1) / (ports[far[segment]] + 1);
}

function gather(order: Order, side: Side, v: number, into: Float64Array): void {
  const { rows } = side,
    from = rows.offset[v],
    to = rows.offset[v + 1];
  for (let k = from; k < to; k++) {
    const place = placeOf(order, side, rows.items[k]);
    let i = k;
    if (to - from <= LONG) for (; i > from && into[i - 1] > place; i--) into[i] = into[i - 1];
    into[i] = place;
  }
  if (to - from > LONG) into.subarray(from, to).sort();
}

const ROUNDS = 12;

/**
 * Exchanges neighbours in a layer while that removes crossings (the "transpose" step of Gansner et al., 1993). Stops when the
 * work done so far reaches `budget`.
 */
export function transpose(places: NeighbourPlaces, order: Order, budget: number): void {
  const { layerCount } = places.strata;
  const dirty = new Uint8Array(layerCount).fill(1);
  for (let round = 0; round < ROUNDS; round++) {
    let moved = false;
    for (let l = 0; l < layerCount && places.work < budget; l++) {
      if (!dirty[l]) continue;
      dirty[l] = 0;
      if (!transposeLayer(places, order, l)) continue;
      moved = true;
      dirty.fill(1, Math.max(0, l - 1), l + 2);
    }
    if (!moved) return;
  }
}

function transposeLayer(places: NeighbourPlaces, order: Order, l: number): boolean {
  const { vertex, start } = order;
  if (start[l + 1] - start[l] < 2) return false;
  places.gatherLayer(order, l);
  let moved = false;
  for (let i = start[l]; i + 1 < start[l + 1]; i++) {
    const a = vertex[i],
      b = vertex[i + 1];
    if (places.gain(a, b) <= 0) continue;
    vertex[i] = b;
    vertex[i + 1] = a;
    moved = true;
  }
  if (moved) renumber(order, l);
  return moved;
}

/**
 * Moves every vertex to the place in its layer where it crosses least, with all other vertices fixed:
 * C. Matuszewski, R. Schoenfeld, P. Molitor, "Using Sifting for k-Layer Straightline Crossing Minimization", GD 1999.
 * It leaves the local optima that exchanges of neighbours get stuck in. One round over all layers, from the first or the last,
 * stopping when the work done so far reaches `budget`; whether anything moved. Vertices `held` stay.
 */
export function sift(places: NeighbourPlaces, order: Order, budget: number, up: boolean, held?: Uint8Array): boolean {
  let moved = false;
  const { layerCount } = places.strata;
  for (let i = 0; i < layerCount && places.work < budget; i++)
    moved = siftLayer(places, order, up ? layerCount - 1 - i : i, budget, held) || moved;
  return moved;
}

function siftLayer(places: NeighbourPlaces, order: Order, l: number, budget: number, held?: Uint8Array): boolean {
  const from = order.start[l],
    to = order.start[l + 1];
  if (to - from < 2) return false;
  places.gatherLayer(order, l);
  let moved = false;
  for (const v of order.vertex.slice(from, to)) {
    if (places.work > budget) break;
    if (held?.[v]) continue;
    const at = from + order.position[v];
    let best = at,
      gain = 0;
    for (let i = at - 1, sum = 0; i >= from; i--) {
      sum += places.gain(order.vertex[i], v);
      if (sum > gain) {
        gain = sum;
        best = i;
      }
    }
    for (let i = at + 1, sum = 0; i < to; i++) {
      sum += places.gain(v, order.vertex[i]);
      if (sum > gain) {
        gain = sum;
        best = i;
      }
    }
    if (best === at) continue;
    put(order, l, v, best - from);
    moved = true;
  }
  return moved;
}
