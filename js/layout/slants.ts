/** Pieces that run sideways through the same stretch of one gap: they start and end at the same heights, so that they cross no more than they must. */
import { rowsBy } from "./level.ts";
import { type Pieces } from "./pieces.ts";

export interface Slants {
  /** Cluster of each piece; -1 for one that runs straight down. */
  of: Int32Array;
  layer: number[];
  left: number[];
  right: number[];
  /** The least height: for a short run less than for a long one. */
  least: number[];
}

const STRAIGHT = 0.1;
const STEEPEST = 1.5;
const LEAST = 12,
  LEAST_SHARE = 0.02;

export function clusterSlants(pieces: Pieces, layerCount: number): Slants {
  const slants: Slants = {
    of: new Int32Array(pieces.layer.length).fill(-1),
    layer: [],
    left: [],
    right: [],
    least: [],
  };
  const { from, to } = pieces,
    byLayer = rowsBy(pieces.layer, layerCount);
  const left = (p: number): number => Math.min(from[p], to[p]),
    right = (p: number): number => Math.max(from[p], to[p]);
  for (let l = 0; l < layerCount; l++) {
    const slanted = [...byLayer.items.subarray(byLayer.offset[l], byLayer.offset[l + 1])].filter(
      (p) => right(p) - left(p) > STRAIGHT,
    );
    slanted.sort((p, q) => left(p) - left(q) || p - q);
    let reach = -Infinity,
      c = -1;
    for (const p of slanted) {
      const run = right(p) - left(p),
        least = Math.min(LEAST + LEAST_SHARE * run, STEEPEST * run);
      if (left(p) > reach) {
        c = slants.layer.push(l) - 1;
        slants.left.push(left(p));
        slants.right.push(right(p));
        slants.least.push(least);
      }
      reach = Math.max(reach, right(p));
      slants.right[c] = reach;
      slants.least[c] = Math.max(slants.least[c], least);
      slants.of[p] = c;
    }
  }
  return slants;
}
