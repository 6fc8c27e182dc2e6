/**
 * y coordinates and polylines. Wires are vertical inside a layer's band, where the boxes are, and slanted only
 * in the gaps between bands, where none are: so no wire can touch a box that is not its own.
 */
import { stackBands } from "./bands";
import { assignLanes } from "./lanes";
import type { LevelGraph, LevelLayout, Spacing } from "./level";
import { sourcePoints, targetPoints } from "./ports";
import type { Strata } from "./strata";

const LANE_GAP = 10;
const RUN_GAP = 6;
/** Gaps grow with the longest sideways run in them, so that slants stay readable: at most by this factor. */
const STRETCH = 1.2;
const STRETCH_RUN = 600;

export function route(graph: LevelGraph, strata: Strata, vertexX: Float64Array, spacing: Spacing): LevelLayout {
  const { itemCount, layer, layerCount, firstBend, bendCount } = strata;
  const wireCount = graph.source.length;
  const lanes = assignLanes(graph, strata);
  const { x, width } = fromZero(strata, vertexX);
  const laneX = (w: number): number => width + LANE_GAP * (1.6 + lanes.lane[w]);

  const start = sourcePoints(graph, x);
  const lead = Float64Array.from(start, (at, w) => (bendCount[w] < 0 ? laneX(w) : bendCount[w] > 0 ? x[firstBend[w] + bendCount[w] - 1] : at));
  const end = targetPoints(graph, x, lead);

  const bandHeight = new Float64Array(layerCount);
  for (let i = 0; i < itemCount; i++) bandHeight[layer[i]] = Math.max(bandHeight[layer[i]], graph.height[i]);
  const run = new Float64Array(layerCount);
  for (let w = 0; w < wireCount; w++) {
    if (bendCount[w] < 0) continue;
    let at = start[w];
    for (let k = 0; k <= bendCount[w]; k++) {
      const next = k < bendCount[w] ? x[firstBend[w] + k] : end[w];
      const l = layer[graph.source[w]] + k;
      run[l] = Math.max(run[l], Math.abs(next - at));
      at = next;
    }
  }
  const natural = Float64Array.from({ length: layerCount }, (_, l) => {
    const runs = lanes.runsBelow[l] + (l + 1 < layerCount ? lanes.runsAbove[l + 1] : 0);
    // Beside the border there are only stubs: straight ones need hardly any room.
    const border = bandHeight[l] === 0 || (l + 1 < layerCount && bandHeight[l + 1] === 0);
    const base = border && run[l] < 1 ? spacing.layerGap / 3 : spacing.layerGap * (border ? 0.75 : 1);
    return base * (1 + Math.min(STRETCH, run[l] / STRETCH_RUN)) + RUN_GAP * runs;
  });
  const inBand = itemsInBands(graph, strata, bandHeight);
  const top = stackBands(graph, strata, bandHeight, natural, inBand);
  const bottom = top.map((at, l) => at + bandHeight[l]);
  const y = inBand.map((at, i) => top[layer[i]] + at);

  const points: number[] = [];
  const offset = new Uint32Array(wireCount + 1);
  for (let w = 0; w < wireCount; w++) {
    const s = graph.source[w], t = graph.target[w], from = layer[s], to = layer[t];
    const line = new Line(points);
    line.to(start[w], y[s] + graph.height[s] / 2);
    if (bendCount[w] < 0) {
      const below = bottom[from] + RUN_GAP * (1 + lanes.slotBelow[w]), above = top[to] - RUN_GAP * (1 + lanes.slotAbove[w]);
      line.to(start[w], below); line.to(laneX(w), below);
      line.to(laneX(w), above); line.to(end[w], above);
    } else {
      line.to(start[w], bottom[from]);
      for (let k = 0; k < bendCount[w]; k++) {
        line.to(x[firstBend[w] + k], top[from + 1 + k]);
        line.to(x[firstBend[w] + k], bottom[from + 1 + k]);
      }
      line.to(end[w], top[to]);
    }
    line.to(end[w], y[t] - graph.height[t] / 2);
    offset[w + 1] = points.length / 2;
  }
  const height = layerCount > 0 ? bottom[layerCount - 1] : 0;
  return {
    width: lanes.count > 0 ? width + LANE_GAP * (1.6 + lanes.count) : width, height,
    x: Float32Array.from(x.subarray(0, itemCount)), y: Float32Array.from(y), points: Float32Array.from(points), offset,
  };
}

/** Collects points, leaving out those in the middle of a vertical run. */
export class Line {
  private readonly first: number;
  constructor(private readonly points: number[]) { this.first = points.length; }

  to(x: number, y: number): void {
    const p = this.points, n = p.length;
    if (n - this.first >= 2 && near(p[n - 2], x) && near(p[n - 1], y)) return;
    if (n - this.first >= 4 && near(p[n - 2], x) && near(p[n - 4], x)) p[n - 1] = y;
    else p.push(x, y);
  }
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.1;
}

function fromZero(strata: Strata, vertexX: Float64Array): { x: Float64Array; width: number } {
  let low = Infinity, high = -Infinity;
  for (let v = 0; v < strata.count; v++) {
    low = Math.min(low, vertexX[v] - strata.width[v] / 2);
    high = Math.max(high, vertexX[v] + strata.width[v] / 2);
  }
  return strata.count === 0 ? { x: vertexX, width: 0 } : { x: vertexX.map((at) => at - low), width: high - low };
}

/**
 * Item centres below their band's top. Sources stand close above their consumers, sinks close below their
 * producers, the rest in the middle of its band.
 */
function itemsInBands(graph: LevelGraph, strata: Strata, bandHeight: Float64Array): Float64Array {
  return Float64Array.from({ length: strata.itemCount }, (_, i) => {
    const band = bandHeight[strata.layer[i]], half = graph.height[i] / 2;
    const isSource = strata.portsAbove[i] === 0, isSink = strata.portsBelow[i] === 0;
    return isSource && !isSink ? band - half : isSink && !isSource ? half : band / 2;
  });
}
