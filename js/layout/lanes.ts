/**
 * Wires too long to be cut into bends run beside the picture: down out of their source, sideways between two
 * layers, down a lane at the right, and back sideways above the target. Between layers there are no boxes, so
 * they cross wires but never a box. One lane a net; nets whose lanes do not overlap share one.
 */
import { type LevelGraph } from "./level.ts";
import { type Strata } from "./strata.ts";

export interface Lanes {
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
  for (let w = 0; w < wireCount; w++) {
    if (strata.bendCount[w] >= 0) continue;
    const wires = nets.get(graph.net[w]);
    if (wires) wires.push(w);
    else nets.set(graph.net[w], [w]);
  }
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
