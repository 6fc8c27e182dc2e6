/** Exchanges neighbours in a layer while that removes crossings (the "transpose" step of Gansner et al., 1993). */
import type { Rows } from "./level";
import { renumber, type Order } from "./order";
import type { Strata } from "./strata";

const ROUNDS = 6;
/** Work units one call may spend, whatever the level's size. */
const BUDGET = 1_500_000;

export class Transposer {
  private left: Float64Array = new Float64Array(16);
  private right: Float64Array = new Float64Array(16);
  private work = 0;

  constructor(private readonly strata: Strata) {}

  improve(order: Order): void {
    const { layerCount } = this.strata;
    const dirty = new Uint8Array(layerCount).fill(1);
    this.work = 0;
    for (let round = 0; round < ROUNDS && this.work < BUDGET; round++) {
      let moved = false;
      for (let l = 0; l < layerCount && this.work < BUDGET; l++) {
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
    let moved = false;
    for (let i = start[l]; i + 1 < start[l + 1]; i++) {
      const a = vertex[i], b = vertex[i + 1];
      if (this.gain(order, a, b) <= 0) continue;
      vertex[i] = b;
      vertex[i + 1] = a;
      moved = true;
    }
    if (moved) renumber(order, l);
    return moved;
  }

  /** Crossings that exchanging the neighbours a (left) and b (right) would remove. */
  private gain(order: Order, a: number, b: number): number {
    const { up, down, source, target, sourcePort, targetPort, portsBelow, portsAbove } = this.strata;
    return this.side(order, up, a, b, source, sourcePort, portsBelow) + this.side(order, down, a, b, target, targetPort, portsAbove);
  }

  private side(
    order: Order, rows: Rows, a: number, b: number, far: Uint32Array, port: Uint16Array, ports: Uint16Array,
  ): number {
    const na = rows.offset[a + 1] - rows.offset[a], nb = rows.offset[b + 1] - rows.offset[b];
    this.work += na + nb + 1;
    if (na === 0 || nb === 0) return 0;
    this.left = gather(order, rows, a, na, far, port, ports, this.left);
    this.right = gather(order, rows, b, nb, far, port, ports, this.right);
    return inversions(this.left, na, this.right, nb) - inversions(this.right, nb, this.left, na);
  }
}

/** Pairs (x in xs, y in ys) with x > y; both sorted. */
function inversions(xs: Float64Array, nx: number, ys: Float64Array, ny: number): number {
  let sum = 0;
  for (let i = 0, j = 0; i < nx; i++) {
    while (j < ny && ys[j] < xs[i]) j++;
    sum += j;
  }
  return sum;
}

function gather(
  order: Order, rows: Rows, v: number, n: number, far: Uint32Array, port: Uint16Array, ports: Uint16Array, into: Float64Array,
): Float64Array {
  const out = into.length < n ? new Float64Array(2 * n) : into;
  const from = rows.offset[v];
  for (let k = 0; k < n; k++) {
    const s = rows.items[from + k], u = far[s];
    const place = order.position[u] + (port[s] + 1) / (ports[u] + 1);
    let i = k;
    if (n <= 24) for (; i > 0 && out[i - 1] > place; i--) out[i] = out[i - 1];
    out[i] = place;
  }
  if (n > 24) out.subarray(0, n).sort();
  return out;
}
