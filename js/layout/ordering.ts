/**
 * Crossing reduction: barycentre and median sweeps with exchanges of neighbours between them, from two starting
 * orders, keeping the best; after E. Gansner, E. Koutsofios, S. North, K.-P. Vo, "A Technique for Drawing
 * Directed Graphs", IEEE TSE 19(3), 1993. Every budget is a count, never a clock: same input, same picture.
 */

import { CrossingCounter, copyOf, copyOrder, fromSeed, fromSinks, fromSources, type Order, renumber } from "./order.ts";
import { NeighbourPlaces, placeOf, sift, transpose } from "./places.ts";
import { type Side, type Strata } from "./strata.ts";
import { TrunkMover } from "./trunks.ts";

/**
 * Units of work (about one segment end visited) that one level may spend: in proportion to its size, up to a most
 * that shrinks again for huge levels, where a sweep or two is all that a person waiting would grant.
 */
const WORK_PER_VERTEX = 6_000,
  MORE_PER_CROSSING = 1 / 60,
  MOST_MORE = 10,
  MOST_WORK = 30_000_000,
  FULL_SIZE = 10_000;
const MAX_SWEEPS = 400;
/** Sweeps without a better order before the search ends: fewer when there is little left to gain, or in a large level. */
const PATIENCE = 40,
  PATIENCE_IF_LARGE = 15,
  LARGE = 2_000;
const SIFT_ROUNDS = 4;

/** With a previous picture: its order, unless a fresh one has far fewer crossings. Moving things has a price too. */
const SEED_TOLERANCE = 1.6;

export function orderLayers(strata: Strata, seed: Float32Array, haste: number): Scored {
  const search = new OrderSearch(strata, haste);
  const seeded = seed.some((x) => !Number.isNaN(x)) ? search.seeded(seed) : null;
  if (seeded?.crossings === 0) return seeded;
  const fresh = search.fresh();
  const exchanges = exchanged(fresh.order, seed);
  if (!seeded || exchanges === 0) return fresh;
  return seeded.crossings <= SEED_TOLERANCE * fresh.crossings + exchanges + 3 ? seeded : fresh;
}

/** The order of a level whose layers or bends have been changed a little: from places in the order that it had before. */
export function orderNear(strata: Strata, place: Float32Array, haste: number): Scored {
  return new OrderSearch(strata, haste).near(place);
}

/** Neighbours among the seeded vertices of each layer that have changed sides. */
function exchanged(order: Order, seed: Float32Array): number {
  let sum = 0;
  for (let l = 0; l + 1 < order.start.length; l++)
    for (let i = order.start[l], last = -Infinity; i < order.start[l + 1]; i++) {
      const v = order.vertex[i];
      if (v >= seed.length || Number.isNaN(seed[v])) continue;
      if (seed[v] < last) sum++;
      last = Math.max(last, seed[v]);
    }
  return sum;
}

export interface Scored {
  order: Order;
  crossings: number;
}

class OrderSearch {
  private readonly counter: CrossingCounter;
  private readonly places: NeighbourPlaces;
  private readonly trunks: TrunkMover;
  private readonly size: number;
  private readonly patience: number;

  constructor(
    private readonly strata: Strata,
    private readonly haste: number,
  ) {
    const size = strata.count + strata.source.length;
    this.size = size;
    this.patience = Math.ceil((size < LARGE ? PATIENCE : PATIENCE_IF_LARGE) / 2 ** haste);
    this.counter = new CrossingCounter(strata);
    this.places = new NeighbourPlaces(strata);
    this.trunks = new TrunkMover(this.places);
  }

  /** Where many crossings are left, longer searches still find better orders. */
  private budget(crossings: number): number {
    const share = Math.min(MOST_MORE, 1 + MORE_PER_CROSSING * crossings);
    const work = Math.min(WORK_PER_VERTEX * this.size * share, MOST_WORK * Math.min(1, FULL_SIZE / this.size));
    return work / 2 ** this.haste;
  }

  /** The previous order: what is new, and bends, find their best places in it; then exchanges that remove crossings. */
  seeded(seed: Float32Array): Scored {
    const order = fromSeed(this.strata, seed);
    const held = Uint8Array.from({ length: this.strata.count }, (_, v) =>
      v < seed.length && !Number.isNaN(seed[v]) ? 1 : 0,
    );
    const budget = this.places.work + this.budget(0);
    for (let k = 0; k < 2 * SIFT_ROUNDS && sift(this.places, order, budget, k % 2 === 1, held); k++);
    this.trunks.improve(order, budget);
    transpose(this.places, order, budget);
    return { order, crossings: this.counter.total(order) };
  }

  near(place: Float32Array): Scored {
    const order = fromSeed(this.strata, place),
      budget = this.budget(0) / 4;
    for (let k = 0; k < 2; k++) {
      this.settle(order, budget);
      this.trunks.improve(order, budget);
      transpose(this.places, order, budget);
    }
    return { order, crossings: this.counter.total(order) };
  }

  /** The best of two searches, each with half of the budget. */
  fresh(): Scored {
    const best = fromSinks(this.strata);
    const found = { order: best, crossings: this.counter.total(best) };
    const starts = found.crossings === 0 ? [] : [copyOf(best), fromSources(this.strata)];
    starts.forEach((start, i) => {
      const before = this.places.work;
      this.climb(start, found, () => before + this.budget(found.crossings) / (starts.length - i));
    });
    return found;
  }

  private settle(order: Order, budget: number): void {
    for (let k = 0; k < SIFT_ROUNDS && sift(this.places, order, budget, k % 2 === 1); k++);
  }

  private climb(trial: Order, best: Scored, limit: () => number): void {
    const { strata, places } = this;
    for (
      let i = 0, idle = 0;
      i < MAX_SWEEPS &&
      idle < Math.min(this.patience, 4 + best.crossings) &&
      best.crossings > 0 &&
      places.work < limit();
      i++, idle++
    ) {
      const budget = limit();
      sweep(strata, trial, i);
      places.work += strata.count + 4 * strata.source.length;
      transpose(this.places, trial, budget);
      this.settle(trial, budget);
      if (i % 3 === 2 && this.trunks.improve(trial, budget)) this.settle(trial, budget);
      const crossings = this.counter.total(trial);
      if (crossings >= best.crossings) continue;
      best.crossings = crossings;
      copyOrder(trial, best.order);
      idle = 0;
    }
  }
}

/** Sorts every layer by where its neighbours in the layer before are; down on even turns, up on odd ones. */
function sweep(strata: Strata, order: Order, turn: number): void {
  const downwards = turn % 2 === 0,
    median = turn % 4 < 2,
    reverseTies = turn % 8 >= 4;
  const want = new Float64Array(strata.count);
  for (let i = 1; i < strata.layerCount; i++) {
    const l = downwards ? i : strata.layerCount - 1 - i;
    const moving: number[] = [];
    const slots: number[] = [];
    for (let k = order.start[l]; k < order.start[l + 1]; k++) {
      const v = order.vertex[k];
      const x = wish(order, downwards ? strata.upper : strata.lower, v, median);
      // A vertex without neighbours there keeps its slot; the others are sorted through the remaining slots.
      if (x < 0) continue;
      want[v] = x;
      moving.push(v);
      slots.push(k);
    }
    const tie = reverseTies ? -1 : 1;
    moving.sort((a, b) => want[a] - want[b] || tie * (order.position[a] - order.position[b]));
    for (let k = 0; k < moving.length; k++) order.vertex[slots[k]] = moving[k];
    renumber(order, l);
  }
}

const places: number[] = [];

function wish(order: Order, side: Side, v: number, median: boolean): number {
  const from = side.rows.offset[v],
    to = side.rows.offset[v + 1];
  if (from === to) return -1;
  places.length = 0;
  let sum = 0;
  for (let k = from; k < to; k++) {
    const place = placeOf(order, side, side.rows.items[k]);
    places.push(place);
    sum += place;
  }
  if (!median || places.length < 3) return sum / places.length;
  places.sort((a, b) => a - b);
  const half = places.length >> 1;
  return places.length % 2 === 1 ? places[half] : (places[half - 1] + places[half]) / 2;
}
