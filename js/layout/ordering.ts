/**
 * Crossing reduction: barycentre and median sweeps with exchanges of neighbours between them, from two starting
 * orders, keeping the best; after E. Gansner, E. Koutsofios, S. North, K.-P. Vo, "A Technique for Drawing
 * Directed Graphs", IEEE TSE 19(3), 1993. Every budget is a count, never a clock: same input, same picture.
 */
import { CrossingCounter } from "./crossings";
import { copyOrder, emptyOrder, fromSeed, fromSinks, fromSources, renumber, type Order } from "./order";
import type { Rows } from "./level";
import type { Strata } from "./strata";
import { Transposer } from "./transpose";

/** Work units (about one segment visited) that one level may spend in sweeps. */
const SWEEP_BUDGET = 2_000_000;
const MAX_SWEEPS = 24;
const PATIENCE = 7;
/** A seeded order stays unless a fresh one has far fewer crossings: moving things has a price too. */
const SEED_TOLERANCE = 1.2;

export function orderLayers(strata: Strata, seed: Float32Array): Order {
  const counter = new CrossingCounter(strata);
  const transposer = new Transposer(strata);
  if (!seed.some((x) => !Number.isNaN(x))) return freshOrder(strata, counter, transposer).order;
  const seeded = fromSeed(strata, seed);
  transposer.improve(seeded);
  const crossings = counter.total(seeded);
  if (crossings <= 2) return seeded;
  const fresh = freshOrder(strata, counter, transposer);
  return crossings <= SEED_TOLERANCE * fresh.crossings + 2 ? seeded : fresh.order;
}

function freshOrder(strata: Strata, counter: CrossingCounter, transposer: Transposer): { order: Order; crossings: number } {
  const sweeps = Math.max(4, Math.min(MAX_SWEEPS, Math.floor(SWEEP_BUDGET / (strata.count + 4 * strata.source.length))));
  const best = fromSinks(strata);
  let fewest = counter.total(best);
  const trial = emptyOrder(strata);
  const starts = fewest === 0 ? [] : sweeps < MAX_SWEEPS ? [best] : [best, fromSources(strata)];
  const tries = starts.map((start) => ({ vertex: start.vertex.slice(), position: start.position.slice(), start: start.start }));
  for (const start of tries) {
    copyOrder(start, trial);
    for (let i = 0, idle = 0; i < sweeps && idle < PATIENCE && fewest > 0; i++, idle++) {
      sweep(strata, trial, i);
      transposer.improve(trial);
      const crossings = counter.total(trial);
      if (crossings >= fewest) continue;
      fewest = crossings;
      copyOrder(trial, best);
      idle = 0;
    }
  }
  return { order: best, crossings: fewest };
}

/** Sorts every layer by where its neighbours in the layer before are; down on even turns, up on odd ones. */
function sweep(strata: Strata, order: Order, turn: number): void {
  const downwards = turn % 2 === 0, median = turn % 4 < 2, reverseTies = turn % 8 >= 4;
  const want = new Float64Array(strata.count);
  for (let i = 1; i < strata.layerCount; i++) {
    const l = downwards ? i : strata.layerCount - 1 - i;
    const moving: number[] = [];
    const slots: number[] = [];
    for (let k = order.start[l]; k < order.start[l + 1]; k++) {
      const v = order.vertex[k];
      const x = downwards
        ? wish(order, strata.up, v, strata.source, strata.sourcePort, strata.portsBelow, median)
        : wish(order, strata.down, v, strata.target, strata.targetPort, strata.portsAbove, median);
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

function wish(
  order: Order, rows: Rows, v: number, far: Uint32Array, port: Uint16Array, ports: Uint16Array, median: boolean,
): number {
  const from = rows.offset[v], to = rows.offset[v + 1];
  if (from === to) return -1;
  places.length = 0;
  let sum = 0;
  for (let k = from; k < to; k++) {
    const s = rows.items[k], u = far[s];
    const place = order.position[u] + (port[s] + 1) / (ports[u] + 1);
    places.push(place);
    sum += place;
  }
  if (!median || places.length < 3) return sum / places.length;
  places.sort((a, b) => a - b);
  const half = places.length >> 1;
  return places.length % 2 === 1 ? places[half] : (places[half - 1] + places[half]) / 2;
}
