/** The left-to-right order of every layer: vertices of layer l are vertex[start[l]] .. vertex[start[l + 1] - 1]; and its crossings. */
import { numbersTo, rowsBy } from "../graph/csr.ts";
import { type Side, type Strata } from "./strata.ts";

export interface Order {
  start: Uint32Array;
  vertex: Uint32Array;
  /** Index of each vertex within its layer. */
  position: Uint32Array;
}

export function renumber(order: Order, l: number): void {
  for (let i = order.start[l]; i < order.start[l + 1]; i++) order.position[order.vertex[i]] = i - order.start[l];
}

/** Moves a vertex to another slot of its layer. */
export function put(order: Order, l: number, v: number, slot: number): void {
  const at = order.start[l] + order.position[v],
    to = order.start[l] + slot;
  if (to < at) order.vertex.copyWithin(to + 1, to, at);
  else order.vertex.copyWithin(at, at + 1, to + 1);
  order.vertex[to] = v;
  renumber(order, l);
}

/** Lays the vertices out in the order given, each at the end of its layer. */
function orderFrom({ layer, layerCount }: Strata, sequence: ArrayLike<number>): Order {
  const { offset: start, items: vertex } = rowsBy(layer, layerCount),
    fill = start.slice(),
    position = new Uint32Array(vertex.length);
  for (let i = 0; i < sequence.length; i++) {
    const v = sequence[i],
      l = layer[v];
    position[v] = fill[l] - start[l];
    vertex[fill[l]++] = v;
  }
  return { start, vertex, position };
}

export function copyOrder(from: Order, to: Order): void {
  to.vertex.set(from.vertex);
  to.position.set(from.position);
}

export function copyOf({ start, vertex, position }: Order): Order {
  return { start, vertex: vertex.slice(), position: position.slice() };
}

/** Depth-first from the sinks upwards, inputs in argument order: trees come out without a crossing. */
export function fromSinks(strata: Strata): Order {
  return search(strata, strata.upper, strata.down.offset);
}

/** Depth-first from the sources downwards. */
export function fromSources(strata: Strata): Order {
  return search(strata, strata.lower, strata.up.offset);
}

function search(strata: Strata, { rows, far }: Side, back: Uint32Array): Order {
  const { count } = strata;
  const seen = new Uint8Array(count),
    next = rows.offset.slice(0, count);
  const sequence = new Uint32Array(count);
  let filled = 0;
  const stack: number[] = [];
  const visit = (v: number): void => {
    seen[v] = 1;
    sequence[filled++] = v;
    stack.push(v);
  };
  for (let root = 0; root < count; root++) {
    if (seen[root] || back[root] < back[root + 1]) continue;
    visit(root);
    while (stack.length > 0) {
      const v = stack[stack.length - 1];
      if (next[v] === rows.offset[v + 1]) {
        stack.pop();
        continue;
      }
      const u = far[rows.items[next[v]++]];
      if (!seen[u]) visit(u);
    }
  }
  return orderFrom(strata, sequence);
}

/**
 * The previous picture's order. A vertex that was not in it goes where its neighbours are: estimates flow
 * down from the layer above, then up from the layer below.
 */
export function fromSeed(strata: Strata, seed: Float32Array): Order {
  const estimate = new Float64Array(strata.count).fill(NaN);
  estimate.set(seed);
  const byLayer = orderFrom(strata, numbersTo(strata.count));
  const guess = (v: number, { rows, far }: Side): void => {
    if (!Number.isNaN(estimate[v])) return;
    let sum = 0,
      known = 0;
    for (let k = rows.offset[v]; k < rows.offset[v + 1]; k++) {
      const x = estimate[far[rows.items[k]]];
      if (Number.isNaN(x)) continue;
      sum += x;
      known++;
    }
    if (known > 0) estimate[v] = sum / known;
  };
  for (const v of byLayer.vertex) guess(v, strata.upper);
  for (let i = strata.count - 1; i >= 0; i--) guess(byLayer.vertex[i], strata.lower);
  // Vertices with no estimate at all keep the place that a fresh picture gives them, at the end of their layer.
  const fresh = fromSinks(strata);
  const sequence = Array.from(fresh.vertex);
  const known = (v: number): number => (Number.isNaN(estimate[v]) ? Infinity : estimate[v]);
  for (let l = 0; l < strata.layerCount; l++) {
    const sorted = sequence.slice(fresh.start[l], fresh.start[l + 1]).sort((a, b) => {
      const x = known(a),
        y = known(b);
      return x === y ? fresh.position[a] - fresh.position[b] : x - y;
    });
    for (let i = 0; i < sorted.length; i++) sequence[fresh.start[l] + i] = sorted[i];
  }
  return orderFrom(strata, sequence);
}

/**
 * Counts crossings between neighbouring layers with an accumulator tree, O(|E| log |V|):
 * W. Barth, P. Mutzel, M. Juenger, "Simple and Efficient Bilayer Cross Counting", JGAA 8(2), 2004.
 * Ports count: two segments that enter one box in the wrong argument order cross.
 */
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
