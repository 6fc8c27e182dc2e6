/**
 * The level as Sugiyama's proper layered graph: wires that cross several layers are cut into segments by
 * bends, one bend a layer. All wires of a net share one chain of bends (a trunk), so a producer with a
 * thousand consumers costs as many bends as its longest wire has layers. Wires that are longer than a limit,
 * chosen so that bends stay in proportion to boxes, run beside the picture instead (bands.ts).
 */

import { type Rows, row, rowsBy } from "../graph/csr.ts";
import { type Layering } from "./layering.ts";
import { type LevelGraph } from "./level.ts";

/** The segments on one side of each vertex; at their far ends the vertices, and the ports used there of how many. */
export interface Side {
  rows: Rows;
  far: Uint32Array;
  port: Uint16Array;
  ports: Uint16Array;
}

export interface Strata {
  itemCount: number;
  /** Items and then bends: together, vertices. */
  count: number;
  layer: Int32Array;
  layerCount: number;
  width: Float32Array;
  /** Segments, each between neighbouring layers. Ports are ranks among a vertex's segments; shifts are 0 if free. */
  source: Uint32Array;
  target: Uint32Array;
  sourcePort: Uint16Array;
  targetPort: Uint16Array;
  sourceShift: Float32Array;
  targetShift: Float32Array;
  down: Rows;
  up: Rows;
  /** How many ports a vertex has above and below. */
  portsAbove: Uint16Array;
  portsBelow: Uint16Array;
  /** The sides above and below. */
  upper: Side;
  lower: Side;
  /** Wire w passes the bends firstBend[w] .. firstBend[w] + bendCount[w] - 1; -1 bends: it takes a lane. */
  firstBend: Int32Array;
  bendCount: Int32Array;
  /** The segment that ends wire w; -1 for a lane. */
  lastSegment: Int32Array;
}

const LIMITS = [4096, 1024, 256, 128, 64, 32, 16, 8, 4, 2];
/** Levels so large that the order gets only a few sweeps: a very long trunk would wander from side to side there. */
const LARGE = 8_000,
  LIMIT_IF_LARGE = 128;

/** With `apart`, every wire has bends of its own: fewer crossings where a net's wires go to both sides of something. */
export function stratify(graph: LevelGraph, layering: Layering, apart = false): Strata {
  const itemCount = graph.kind.length,
    wireCount = graph.source.length;
  const { layer: itemLayer, count: layerCount } = layering;
  const span = (w: number): number => itemLayer[graph.target[w]] - itemLayer[graph.source[w]];
  let netCount = 0;
  for (const net of graph.net) netCount = Math.max(netCount, net + 1);
  const longest = longestWithin(graph, span, netCount, itemCount + wireCount);
  // The trunk of each net, or, apart, of each wire.
  const shared = apart ? Uint32Array.from(graph.net.keys()) : graph.net;

  const trunk = new Int32Array(apart ? wireCount : netCount).fill(-1);
  const firstBend = new Int32Array(wireCount).fill(-1),
    bendCount = new Int32Array(wireCount).fill(-1);
  const lastSegment = new Int32Array(wireCount).fill(-1);
  const bendLayer: number[] = [];
  const source: number[] = [],
    target: number[] = [],
    byWire: number[] = [];
  const segment = (from: number, to: number, wire: number): number => {
    source.push(from);
    target.push(to);
    return byWire.push(wire) - 1;
  };

  for (let w = 0; w < wireCount; w++) {
    const net = shared[w],
      s = graph.source[w],
      layers = span(w);
    if (layers > longest.limit) continue;
    if (trunk[net] === -1) {
      trunk[net] = itemCount + bendLayer.length;
      for (let k = 1; k < (apart ? layers : longest.reach[net]); k++) {
        const bend = itemCount + bendLayer.push(itemLayer[s] + k) - 1;
        segment(k === 1 ? s : bend - 1, bend, k === 1 ? w : -1);
      }
    }
    firstBend[w] = trunk[net];
    bendCount[w] = layers - 1;
    lastSegment[w] = segment(layers === 1 ? s : trunk[net] + layers - 2, graph.target[w], w);
  }

  const count = itemCount + bendLayer.length;
  const layer = new Int32Array(count),
    width = new Float32Array(count);
  layer.set(itemLayer);
  layer.set(bendLayer, itemCount);
  width.set(graph.width);
  const side = (from: number[], to: number[]): Side => ({
    rows: rowsBy(from, count),
    far: Uint32Array.from(to),
    port: new Uint16Array(to.length),
    ports: new Uint16Array(count),
  });
  const [upper, lower] = [side(target, source), side(source, target)];
  const strata = {
    ...{ itemCount, count, layer, layerCount, width, upper, lower, firstBend, bendCount, lastSegment },
    ...{ source: upper.far, sourcePort: upper.port, portsBelow: upper.ports, up: upper.rows },
    ...{ target: lower.far, targetPort: lower.port, portsAbove: lower.ports, down: lower.rows },
    sourceShift: new Float32Array(source.length),
    targetShift: new Float32Array(source.length),
  };
  rankPorts(graph, strata, byWire);
  return strata;
}

/** The longest span drawn with bends, and how far each net's trunk then reaches. */
function longestWithin(graph: LevelGraph, span: (w: number) => number, netCount: number, size: number) {
  const reach = new Int32Array(netCount);
  for (let i = 0; ; i++) {
    const limit = LIMITS[i];
    if (size > LARGE && limit > LIMIT_IF_LARGE) continue;
    reach.fill(0);
    let bends = 0,
      walked = 0;
    for (let w = 0; w < graph.net.length; w++) {
      if (span(w) > limit) continue;
      reach[graph.net[w]] = Math.max(reach[graph.net[w]], span(w));
      walked += span(w);
    }
    for (const r of reach) bends += Math.max(0, r - 1);
    // Bends are shared by a net's wires, but routing walks every wire from end to end.
    if ((bends <= 4 * size + 1000 && walked <= 40 * size + 10_000) || i === LIMITS.length - 1) return { limit, reach };
  }
}

/** Orders the segments at each end of a vertex: by argument position, or by where a box's inside put them. */
function rankPorts(graph: LevelGraph, strata: Strata, byWire: number[]): void {
  const { upper, lower } = strata;
  const rank = ({ rows }: Side, here: Side, ports: Uint32Array, fixed: Float32Array, shifts: Float32Array): void => {
    const key = (s: number): number => {
      const wire = byWire[s];
      return Number.isNaN(fixed[wire]) ? ports[wire] : fixed[wire];
    };
    for (let v = 0; v < strata.itemCount; v++) {
      const segments = row(rows, v);
      if (segments.length > 1) segments.sort((a, b) => key(a) - key(b) || a - b);
      for (let i = 0, r = 0; i < segments.length; i++) {
        if (i > 0 && key(segments[i]) !== key(segments[i - 1])) r++;
        here.port[segments[i]] = r;
        here.ports[v] = r + 1;
        shifts[segments[i]] = fixed[byWire[segments[i]]] || 0;
      }
    }
    for (let v = strata.itemCount; v < strata.count; v++) here.ports[v] = 1;
  };
  rank(upper, lower, graph.targetPort, graph.targetShift, strata.targetShift);
  rank(lower, upper, graph.sourcePort, graph.sourceShift, strata.sourceShift);
}

/** The pieces of every wire: one for each gap between layers that it passes, from one x to the next. */
export interface Pieces {
  /** Wire w has the pieces offset[w] .. offset[w + 1] - 1, top to bottom; a wire in a lane has none. */
  offset: Uint32Array;
  /** Piece p lies in the gap below this layer. */
  layer: Int32Array;
  from: Float64Array;
  to: Float64Array;
}

export function cutIntoPieces(
  graph: LevelGraph,
  { layer, firstBend, bendCount }: Strata,
  x: ArrayLike<number>,
  start: Float64Array,
  end: Float64Array,
): Pieces {
  const wireCount = graph.source.length,
    offset = new Uint32Array(wireCount + 1);
  for (let w = 0; w < wireCount; w++) offset[w + 1] = offset[w] + bendCount[w] + 1;
  const count = offset[wireCount];
  const pieces = { offset, layer: new Int32Array(count), from: new Float64Array(count), to: new Float64Array(count) };
  for (let w = 0; w < wireCount; w++)
    for (let k = 0, at = start[w]; k <= bendCount[w]; k++) {
      const p = offset[w] + k;
      pieces.layer[p] = layer[graph.source[w]] + k;
      pieces.from[p] = at;
      pieces.to[p] = at = k < bendCount[w] ? x[firstBend[w] + k] : end[w];
    }
  return pieces;
}
