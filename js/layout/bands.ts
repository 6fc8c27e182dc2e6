/**
 * y coordinates of a first picture: one band for each layer. With a previous picture and lanes beside the bands, a band
 * stays where it was if a gap no larger than a hole left by a removed layer allows it. Lanes are for wires too long for bends.
 */
import { append } from "../graph/csr.ts";
import { type Heights } from "./keeping.ts";
import { type LevelGraph, median, type Spacing } from "./level.ts";
import { type Pieces, type Strata } from "./strata.ts";

/** Between sideways runs of lanes. */
export const RUN_GAP = 6;
/** Gaps grow with the longest sideways run in them, so that slants stay readable: at most by this factor. */
const STRETCH = 1.2,
  STRETCH_RUN = 600;
/** Between groups, whose header and padding part their contents already. */
const LEAST_GAP = 18;
/** Stubs that go straight to the border need no room there; others less than between boxes. */
const BORDER_SHARE = 0.75,
  BORDER_GAP = 24;
/** The largest hole kept, and the share of the picture that holes may make up; wider ones close. */
const LARGEST_HOLE = 160,
  SHARE = 0.2;

/** A level whose wires are cut into pieces, and the height of the boxes of each layer. */
interface Banded {
  graph: LevelGraph;
  strata: Strata;
  pieces: Pieces;
  bandHeight: Float64Array;
}

/** The comfortable gap below each layer: contents of groups and boxes outside of them are about as far apart. */
export function naturalGaps(
  { graph, strata, pieces, bandHeight }: Banded,
  lanes: Lanes,
  spacing: Spacing,
): Float64Array {
  const { layerCount, layer, itemCount } = strata;
  const run = new Float64Array(layerCount),
    head = new Float64Array(layerCount),
    foot = new Float64Array(layerCount);
  pieces.layer.forEach((l, p) => {
    run[l] = Math.max(run[l], Math.abs(pieces.to[p] - pieces.from[p]));
  });
  for (let i = 0; i < itemCount; i++) {
    head[layer[i]] = Math.max(head[layer[i]], graph.head[i]);
    foot[layer[i]] = Math.max(foot[layer[i]], graph.foot[i]);
  }
  return Float64Array.from({ length: layerCount }, (_, l) => {
    const last = l + 1 === layerCount,
      runs = lanes.runsBelow[l] + (last ? 0 : lanes.runsAbove[l + 1]);
    const border = bandHeight[l] === 0 || (!last && bandHeight[l + 1] === 0);
    const within = last ? spacing.layerGap : Math.max(LEAST_GAP, spacing.layerGap - foot[l] - head[l + 1]);
    const base = !border ? within : run[l] < 1 ? 0 : Math.min(BORDER_GAP, BORDER_SHARE * within);
    return base * (1 + Math.min(STRETCH, run[l] / STRETCH_RUN)) + RUN_GAP * runs;
  });
}

export function inBands(banded: Banded, gap: Float64Array): Heights & { top: Float64Array; bottom: Float64Array } {
  const { strata, pieces, bandHeight } = banded;
  const inBand = itemsInBands(banded),
    top = stackBands(banded, gap, inBand);
  const bottom = top.map((at, l) => at + bandHeight[l]);
  return {
    top,
    bottom,
    y: inBand.map((at, i) => top[strata.layer[i]] + at),
    height: bottom.length > 0 ? bottom[bottom.length - 1] : 0,
    give: 0,
    squeeze: new Float32Array(strata.itemCount),
    slantTop: Float64Array.from(pieces.layer, (l) => bottom[l]),
    slantBottom: Float64Array.from(pieces.layer, (l) => top[l + 1]),
  };
}

function stackBands({ graph, strata, bandHeight }: Banded, gap: Float64Array, inBand: Float64Array): Float64Array {
  const top = new Float64Array(strata.layerCount);
  const before = previousTops(graph, strata, inBand);
  let shift = NaN,
    holes = 0;
  for (let l = 0, y = 0; l < strata.layerCount; l++) {
    if (!Number.isNaN(before[l])) {
      const hole = before[l] + shift - y;
      if (hole > 0 && hole <= LARGEST_HOLE && holes + hole <= SHARE * y + LARGEST_HOLE) {
        y += hole;
        holes += hole;
      } else if (!(hole <= 0)) shift = y - before[l];
    }
    top[l] = y;
    y += bandHeight[l] + gap[l];
  }
  return top;
}

function previousTops(graph: LevelGraph, strata: Strata, inBand: Float64Array): Float64Array {
  const tops: number[][] = Array.from({ length: strata.layerCount }, () => []);
  for (let i = 0; i < strata.itemCount; i++)
    if (!Number.isNaN(graph.seedY[i])) tops[strata.layer[i]].push(graph.seedY[i] - inBand[i]);
  return Float64Array.from(tops, (list) => (list.length === 0 ? NaN : median(list)));
}

/**
 * Item centres below their band's top. Sources stand close above their consumers, sinks close below their
 * producers, the rest in the middle of its band.
 */
function itemsInBands({ graph, strata, bandHeight }: Banded): Float64Array {
  return Float64Array.from({ length: strata.itemCount }, (_, i) => {
    const band = bandHeight[strata.layer[i]],
      half = graph.height[i] / 2;
    const isSource = strata.portsAbove[i] === 0,
      isSink = strata.portsBelow[i] === 0;
    return isSource && !isSink ? band - half : isSink && !isSource ? half : band / 2;
  });
}

interface Lanes {
  count: number;
  /** Lane of each wire, or -1. */
  lane: Int32Array;
  /** The wire's place among the sideways runs below its source's layer and above its target's layer. */
  slotBelow: Int32Array;
  slotAbove: Int32Array;
  /** Sideways runs that leave below, and arrive above, each layer. */
  runsBelow: Int32Array;
  runsAbove: Int32Array;
}

/**
 * Wires too long to be cut into bends run beside the picture: down out of their source, sideways between two
 * layers, down a lane at the right, and back sideways above the target. Between layers there are no boxes, so
 * they cross wires but never a box. One lane a net; nets whose lanes do not overlap share one.
 */
export function assignLanes(graph: LevelGraph, strata: Strata): Lanes {
  const wireCount = graph.source.length;
  const lanes: Lanes = {
    count: 0,
    lane: new Int32Array(wireCount).fill(-1),
    slotBelow: new Int32Array(wireCount),
    slotAbove: new Int32Array(wireCount),
    runsBelow: new Int32Array(strata.layerCount),
    runsAbove: new Int32Array(strata.layerCount),
  };
  const nets = new Map<number, number[]>();
  for (let w = 0; w < wireCount; w++) if (strata.bendCount[w] < 0) append(nets, graph.net[w], w);
  const spans = [...nets.values()].map((wires) => {
    const targets = wires.map((w) => strata.layer[graph.target[w]]);
    return { wires, from: strata.layer[graph.source[wires[0]]], to: targets.reduce((a, b) => Math.max(a, b)) };
  });
  spans.sort((a, b) => a.from - b.from || a.wires[0] - b.wires[0]);
  const freeFrom: number[] = [];
  for (const { wires, from, to } of spans) {
    let lane = freeFrom.findIndex((layer) => layer <= from);
    if (lane < 0) lane = freeFrom.push(0) - 1;
    freeFrom[lane] = to + 1;
    const slotBelow = lanes.runsBelow[from]++;
    const slotAbove = new Map<number, number>();
    for (const w of wires) {
      const layer = strata.layer[graph.target[w]];
      if (!slotAbove.has(layer)) slotAbove.set(layer, lanes.runsAbove[layer]++);
      lanes.lane[w] = lane;
      lanes.slotBelow[w] = slotBelow;
      lanes.slotAbove[w] = slotAbove.get(layer)!;
    }
  }
  lanes.count = freeFrom.length;
  return lanes;
}
