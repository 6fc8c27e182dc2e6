/**
 * Counts crossings between neighbouring layers with an accumulator tree, O(|E| log |V|):
 * W. Barth, P. Mutzel, M. Juenger, "Simple and Efficient Bilayer Cross Counting", JGAA 8(2), 2004.
 * Ports count: two segments that enter one box in the wrong argument order cross.
 */
import { type Order } from "./order.ts";
import { type Strata } from "./strata.ts";

export class CrossingCounter {
  private readonly portBelow: Uint32Array;
  private readonly fill: Uint32Array;
  private readonly bucket: Float64Array;
  private readonly bucketStart: Uint32Array;
  private readonly tree: Uint32Array;

  constructor(private readonly strata: Strata) {
    const { count, source, sourcePort, portsBelow, portsAbove } = strata;
    // Segments are dropped into one bucket per (vertex, port below), visiting the lower layer left to right,
    // so every bucket comes out sorted and no comparison sort is needed.
    this.portBelow = new Uint32Array(count + 1);
    for (let v = 0; v < count; v++) this.portBelow[v + 1] = this.portBelow[v] + portsBelow[v];
    const buckets = this.portBelow[count];
    this.bucketStart = new Uint32Array(buckets + 1);
    for (let s = 0; s < source.length; s++) this.bucketStart[this.portBelow[source[s]] + sourcePort[s] + 1]++;
    for (let b = 0; b < buckets; b++) this.bucketStart[b + 1] += this.bucketStart[b];
    this.fill = new Uint32Array(buckets);
    this.bucket = new Float64Array(source.length);
    const above = new Uint32Array(strata.layerCount);
    for (let v = 0; v < count; v++) above[strata.layer[v]] += portsAbove[v];
    this.tree = new Uint32Array(2 * ceilPowerOfTwo(above.reduce((a, b) => Math.max(a, b), 1)));
  }

  total(order: Order): number {
    let sum = 0;
    for (let l = 0; l + 1 < this.strata.layerCount; l++) sum += this.between(order, l);
    return sum;
  }

  /** Crossings between layer `l` and the next. */
  between(order: Order, l: number): number {
    const { up, source, sourcePort, targetPort, portsAbove } = this.strata;
    const { start, vertex } = order;
    for (let i = start[l]; i < start[l + 1]; i++) {
      const v = vertex[i];
      for (let b = this.portBelow[v]; b < this.portBelow[v + 1]; b++) this.fill[b] = this.bucketStart[b];
    }
    let ports = 0;
    for (let i = start[l + 1]; i < start[l + 2]; i++) {
      const v = vertex[i];
      for (let k = up.offset[v]; k < up.offset[v + 1]; k++) {
        const s = up.items[k];
        this.bucket[this.fill[this.portBelow[source[s]] + sourcePort[s]]++] = ports + targetPort[s];
      }
      ports += portsAbove[v];
    }
    const leaves = ceilPowerOfTwo(Math.max(1, ports));
    const tree = this.tree.fill(0, 0, 2 * leaves);
    let sum = 0;
    for (let i = start[l]; i < start[l + 1]; i++) {
      const v = vertex[i];
      for (let b = this.portBelow[v]; b < this.portBelow[v + 1]; b++) {
        // Segments from one point do not cross: count the whole bucket before adding it.
        for (let k = this.bucketStart[b]; k < this.fill[b]; k++)
          for (let t = leaves + this.bucket[k]; t > 1; t >>= 1) if ((t & 1) === 0) sum += tree[t + 1];
        for (let k = this.bucketStart[b]; k < this.fill[b]; k++)
          for (let t = leaves + this.bucket[k]; t > 0; t >>= 1) tree[t]++;
      }
    }
    return sum;
  }
}

function ceilPowerOfTwo(n: number): number {
  let p = 1;
  while (p < n) p *= 2;
  return p;
}
