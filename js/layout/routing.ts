/**
 * y coordinates and polylines. Wires are vertical inside a layer's band, where the boxes are, and slanted only
 * in the gaps between bands, where none are: so no wire can touch a box that is not its own.
 */

import { row, rowsBy } from "../graph/csr.ts";
import { assignLanes, inBands, naturalGaps, RUN_GAP } from "./bands.ts";
import { keepHeights } from "./keeping.ts";
import { type LevelGraph, type LevelLayout, onGrid, type Spacing, sizeOnGrid } from "./level.ts";
import { cutIntoPieces, type Strata } from "./strata.ts";

const LANE_GAP = 10;

export function route(graph: LevelGraph, strata: Strata, vertexX: Float64Array, spacing: Spacing): LevelLayout {
  const { itemCount, layer, layerCount, firstBend, bendCount } = strata;
  const wireCount = graph.source.length;
  const lanes = assignLanes(graph, strata);
  const { x, width } = fromZero(strata, vertexX);
  const laneX = (w: number): number => width + LANE_GAP * (1.6 + lanes.lane[w]);

  const start = sourcePoints(graph, x);
  const lead = Float64Array.from(start, (at, w) =>
    bendCount[w] < 0 ? laneX(w) : bendCount[w] > 0 ? x[firstBend[w] + bendCount[w] - 1] : at,
  );
  const end = targetPoints(graph, x, lead);

  const pieces = cutIntoPieces(graph, strata, x, start, end);
  const bandHeight = new Float64Array(layerCount);
  for (let i = 0; i < itemCount; i++) bandHeight[layer[i]] = Math.max(bandHeight[layer[i]], graph.height[i]);
  const gap = naturalGaps({ graph, strata, pieces, bandHeight }, lanes, spacing);
  const seeded = lanes.count === 0 && graph.seedY.some((at) => !Number.isNaN(at));
  const { y, height, give, squeeze, slantTop, slantBottom, top, bottom } = seeded
    ? { ...keepHeights(graph, strata, x, pieces, gap), top: bandHeight, bottom: bandHeight }
    : inBands({ graph, strata, pieces, bandHeight }, gap);

  const line = new Lines();
  const offset = new Uint32Array(wireCount + 1);
  for (let w = 0; w < wireCount; w++) {
    const s = graph.source[w],
      t = graph.target[w],
      from = layer[s],
      to = layer[t];
    line.begin();
    line.to(start[w], y[s] + graph.height[s] / 2);
    if (bendCount[w] < 0) {
      const below = bottom[from] + RUN_GAP * (1 + lanes.slotBelow[w]),
        above = top[to] - RUN_GAP * (1 + lanes.slotAbove[w]);
      line.to(start[w], below);
      line.to(laneX(w), below);
      line.to(laneX(w), above);
      line.to(end[w], above);
    }
    for (let p = pieces.offset[w]; p < pieces.offset[w + 1]; p++) {
      if (Number.isNaN(slantTop[p])) continue;
      line.to(pieces.from[p], slantTop[p]);
      line.to(pieces.to[p], slantBottom[p]);
    }
    line.to(end[w], y[t] - graph.height[t] / 2);
    offset[w + 1] = line.size / 2;
  }
  return {
    width: sizeOnGrid(lanes.count > 0 ? width + LANE_GAP * (1.6 + lanes.count) : width),
    height: sizeOnGrid(height),
    x: Float32Array.from(x.subarray(0, itemCount), onGrid),
    y: Float32Array.from(y, onGrid),
    points: line.points(),
    offset,
    give,
    squeeze,
  };
}

/** Collects polylines one after the other, leaving out points in the middle of a vertical run. */
export class Lines {
  /** x, y pairs; those after `size` are not in use. */
  values = new Float64Array(64);
  size = 0;
  private first = 0;

  begin(): void {
    this.first = this.size;
  }

  to(x: number, y: number): void {
    const p = this.values,
      n = this.size;
    if (n - this.first >= 2 && near(p[n - 2], x) && near(p[n - 1], y)) return;
    if (n - this.first >= 4 && near(p[n - 2], x) && near(p[n - 4], x)) {
      p[n - 1] = y;
      return;
    }
    if (n + 2 > p.length) {
      this.values = new Float64Array(2 * p.length);
      this.values.set(p);
    }
    this.values[n] = x;
    this.values[n + 1] = y;
    this.size = n + 2;
  }

  /** The line begun last runs the other way. */
  turnRound(): void {
    const p = this.values;
    for (let i = this.first, j = this.size - 2; i < j; i += 2, j -= 2) {
      const x = p[i],
        y = p[i + 1];
      p[i] = p[j];
      p[i + 1] = p[j + 1];
      p[j] = x;
      p[j + 1] = y;
    }
  }

  points(): Float32Array {
    return new Float32Array(this.values.subarray(0, this.size));
  }
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.1;
}

function fromZero(strata: Strata, vertexX: Float64Array): { x: Float64Array; width: number } {
  let low = Infinity,
    high = -Infinity;
  for (let v = 0; v < strata.count; v++) {
    low = Math.min(low, vertexX[v] - strata.width[v] / 2);
    high = Math.max(high, vertexX[v] + strata.width[v] / 2);
  }
  return strata.count === 0 ? { x: vertexX, width: 0 } : { x: vertexX.map((at) => at - low), width: high - low };
}

const PORT_GAP = 12;
const CORNER = 8;

/** x of every wire's upper end: an output leaves a free box at the middle. */
function sourcePoints(graph: LevelGraph, x: ArrayLike<number>): Float64Array {
  const at = new Float64Array(graph.source.length);
  const turned = new Map<number, Set<number>>();
  for (let w = 0; w < at.length; w++) {
    const s = graph.source[w];
    if (!Number.isNaN(graph.sourceShift[w])) {
      at[w] = x[s] + graph.sourceShift[w];
      continue;
    }
    at[w] = x[s];
    if (graph.sourcePort[w] === 0) continue;
    // A turned-round edge is another tensor than the box's output: it leaves beside it.
    const nets = turned.get(s) ?? new Set();
    turned.set(s, nets.add(graph.net[w]));
    at[w] += Math.min(PORT_GAP * nets.size, Math.max(0, graph.width[s] / 2 - CORNER));
  }
  return at;
}

/**
 * x of every wire's lower end, given the x it comes from: inputs enter in argument order, each as straight below its wire's
 * last bend as order and spacing allow, by isotonic regression with least distances (pooling adjacent violators).
 */
function targetPoints(graph: LevelGraph, x: ArrayLike<number>, from: Float64Array): Float64Array {
  const at = new Float64Array(graph.target.length);
  const rows = rowsBy(graph.target, graph.kind.length);
  for (let v = 0; v < graph.kind.length; v++) {
    const wires = row(rows, v);
    if (wires.length === 0) continue;
    if (!Number.isNaN(graph.targetShift[wires[0]]) || graph.kind[v] !== 0) {
      for (const w of wires) at[w] = x[v] + (graph.targetShift[w] || 0);
      continue;
    }
    wires.sort((a, b) => graph.targetPort[a] - graph.targetPort[b] || from[a] - from[b] || a - b);
    // Arrows gather near the middle however wide the box is.
    const half = Math.max(0, Math.min(graph.width[v] / 2 - CORNER, PORT_GAP * (wires.length + 1)));
    const gap = wires.length > 1 ? Math.min(PORT_GAP, (2 * half) / (wires.length - 1)) : 0;
    const place = spread(
      Float64Array.from(wires, (w) => from[w] - x[v]),
      gap,
      half,
    );
    for (let i = 0; i < wires.length; i++) at[wires[i]] = x[v] + place[i];
  }
  return at;
}

/** The places nearest to the wanted ones that are in order, at least `gap` apart and within [-half, half]. */
export function spread(wanted: Float64Array, gap: number, half: number): Float64Array {
  const n = wanted.length;
  const pools: { sum: number; size: number }[] = [];
  for (let i = 0; i < n; i++) {
    const clamped = Math.max(-half + i * gap, Math.min(half - (n - 1 - i) * gap, wanted[i]));
    let pool = { sum: clamped - i * gap, size: 1 };
    for (
      let last = pools[pools.length - 1];
      last && last.sum / last.size > pool.sum / pool.size;
      last = pools[pools.length - 1]
    ) {
      pools.pop();
      pool = { sum: last.sum + pool.sum, size: last.size + pool.size };
    }
    pools.push(pool);
  }
  const out = new Float64Array(n);
  let i = 0;
  for (const { sum, size } of pools) for (let k = 0; k < size; k++, i++) out[i] = sum / size + i * gap;
  return out;
}
