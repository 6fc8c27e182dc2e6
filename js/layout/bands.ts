/**
 * Where each layer's band begins. With a previous picture, a band stays where it was if a gap no larger than a hole
 * left by a removed layer allows it: a pass that drops one op then moves nothing, and bringing it back fills the hole.
 */
import { median, type LevelGraph } from "./level";
import type { Strata } from "./strata";

/** The largest hole kept, and the share of the picture that holes may make up; wider ones close. */
const LARGEST_HOLE = 160;
const SHARE = 0.2;

export function stackBands(
  graph: LevelGraph, strata: Strata, bandHeight: Float64Array, gap: Float64Array, inBand: Float64Array,
): Float64Array {
  const top = new Float64Array(strata.layerCount);
  const before = previousTops(graph, strata, inBand);
  let shift = NaN, holes = 0;
  for (let l = 0, y = 0; l < strata.layerCount; l++) {
    if (!Number.isNaN(before[l])) {
      const hole = before[l] + shift - y;
      if (hole > 0 && hole <= LARGEST_HOLE && holes + hole <= SHARE * y + LARGEST_HOLE) { y += hole; holes += hole; }
      else if (!(hole <= 0)) shift = y - before[l];
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
