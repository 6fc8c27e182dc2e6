/**
 * Moves every vertex to the place in its layer where it crosses least, with all other vertices fixed:
 * C. Matuszewski, R. Schoenfeld, P. Molitor, "Using Sifting for k-Layer Straightline Crossing Minimization", GD 1999.
 * It leaves the local optima that exchanges of neighbours get stuck in.
 */
import { type Order, renumber } from "./order.ts";
import { type NeighbourPlaces } from "./places.ts";
import { type Strata } from "./strata.ts";

export class Sifter {
  constructor(
    private readonly strata: Strata,
    private readonly places: NeighbourPlaces,
  ) {}

  /** One round over all layers, stopping when the work done so far reaches `budget`; whether anything moved. Vertices `held` stay. */
  improve(order: Order, budget: number, upwards: boolean, held?: Uint8Array): boolean {
    let moved = false;
    const { layerCount } = this.strata;
    for (let i = 0; i < layerCount && this.places.work < budget; i++)
      moved = this.siftLayer(order, upwards ? layerCount - 1 - i : i, budget, held) || moved;
    return moved;
  }

  private siftLayer(order: Order, l: number, budget: number, held?: Uint8Array): boolean {
    const from = order.start[l],
      to = order.start[l + 1];
    if (to - from < 2) return false;
    const { places } = this;
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
      if (best < at) order.vertex.copyWithin(best + 1, best, at);
      else order.vertex.copyWithin(at, at + 1, best + 1);
      order.vertex[best] = v;
      renumber(order, l);
      moved = true;
    }
    return moved;
  }
}
