/** The pieces of every wire: one for each gap between layers that it passes, from one x to the next. */
import { type LevelGraph } from "./level.ts";
import { type Strata } from "./strata.ts";

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
