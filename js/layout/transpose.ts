/** Exchanges neighbours in a layer while that removes crossings (the "transpose" step of Gansner et al., 1993). */
import { type Order, renumber } from "./order.ts";
import { type NeighbourPlaces } from "./places.ts";
import { type Strata } from "./strata.ts";

const ROUNDS = 12;

export class Transposer {
  constructor(
    private readonly strata: Strata,
    private readonly places: NeighbourPlaces,
  ) {}

  /** Stops when the work done so far reaches `budget`. */
  improve(order: Order, budget: number): void {
    const { layerCount } = this.strata;
    const dirty = new Uint8Array(layerCount).fill(1);
    for (let round = 0; round < ROUNDS; round++) {
      let moved = false;
      for (let l = 0; l < layerCount && this.places.work < budget; l++) {
        if (!dirty[l]) continue;
        dirty[l] = 0;
        if (!this.improveLayer(order, l)) continue;
        moved = true;
        dirty[l] = 1;
        if (l > 0) dirty[l - 1] = 1;
        if (l + 1 < layerCount) dirty[l + 1] = 1;
      }
      if (!moved) return;
    }
  }

  private improveLayer(order: Order, l: number): boolean {
    const { vertex, start } = order;
    if (start[l + 1] - start[l] < 2) return false;
    this.places.gatherLayer(order, l);
    let moved = false;
    for (let i = start[l]; i + 1 < start[l + 1]; i++) {
      const a = vertex[i],
        b = vertex[i + 1];
      if (this.places.gain(a, b) <= 0) continue;
      vertex[i] = b;
      vertex[i + 1] = a;
      moved = true;
    }
    if (moved) renumber(order, l);
    return moved;
  }
}
