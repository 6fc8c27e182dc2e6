/** The previous picture, as far as it is known: where each node was, and where each group would be to bring its members back. */
import { type Hierarchy } from "./hierarchy.ts";
import { median, type Placed } from "./level.ts";
import { type LayoutInput } from "./types.ts";

/** Pixels; less than this is not worth a second look. */
const SLIGHT = 1;

/** Previous centres. A group's is where most of its members would be back in their places. */
export class Seeds {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Whether groups may still be squeezed. */
  mayGive = true;

  /** How far each member of a group would have to go. */
  private readonly byX: Float64Array;
  private readonly byY: Float64Array;

  constructor(
    seed: NonNullable<LayoutInput["seed"]>,
    private readonly nodeCount: number,
    groupCount: number,
  ) {
    this.x = new Float64Array(nodeCount + groupCount).fill(NaN);
    this.y = new Float64Array(nodeCount + groupCount).fill(NaN);
    this.byX = new Float64Array(nodeCount + groupCount);
    this.byY = new Float64Array(nodeCount + groupCount);
    this.x.set(seed.x);
    this.y.set(seed.y);
  }

  found(group: number, { items, layout, insetX, insetY, width, height }: Placed, local: Uint32Array): void {
    const { byX, byY } = this;
    let count = 0,
      together = true;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (item >= this.x.length || Number.isNaN(this.x[item]) || Number.isNaN(this.y[item])) continue;
      byX[count] = this.x[item] - insetX - layout.x[local[item]];
      byY[count] = this.y[item] - insetY - layout.y[local[item]];
      together &&= byX[count] === byX[0] && byY[count] === byY[0];
      count++;
    }
    if (count === 0) return;
    // Most groups have moved as a whole.
    const middle = (by: Float64Array): number => (together ? by[0] : median([...by.subarray(0, count)]));
    this.x[group] = middle(byX) + width / 2;
    this.y[group] = middle(byY) + height / 2;
  }

  /**
   * Groups that what is above them pushes down, while there is room in them: their contents are wanted no higher than that
   * leaves, so that nothing below has to move. Levels whose contents are now wanted elsewhere, and those around them, are 1.
   */
  squeeze(h: Hierarchy, placed: Placed[], input: LayoutInput): Uint8Array | null {
    const { nodeCount } = this,
      ceiling = new Float64Array(h.groupCount + 1).fill(-Infinity);
    const dirty = new Uint8Array(h.groupCount + 1);
    for (let k = h.groupCount; k >= 0; k--) {
      const level = h.bottomUp[k],
        { items, layout } = placed[level];
      if (level < h.groupCount)
        ceiling[level] = Math.max(ceiling[level], ceiling[h.home[nodeCount + level]] + placed[level].insetY);
      for (let i = 0; i < items.length; i++) {
        const g = items[i] - nodeCount;
        if (g < 0 || g >= h.groupCount || !(layout.squeeze[i] > SLIGHT)) continue;
        dirty[level] = 1;
        ceiling[g] = this.y[items[i]] - placed[g].height / 2 + placed[g].insetY + layout.squeeze[i];
      }
    }
    this.mayGive = false;
    if (!dirty.includes(1)) return null;
    for (let n = 0; n < nodeCount; n++) {
      const least = ceiling[h.home[n]] + input.nodes.height[n] / 2;
      if (!(this.y[n] < least)) continue;
      this.y[n] = least;
      dirty[h.home[n]] = 1;
    }
    for (const level of h.bottomUp) if (dirty[level] && level < h.groupCount) dirty[h.home[nodeCount + level]] = 1;
    return dirty;
  }
}
