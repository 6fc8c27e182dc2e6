/** The ways of edges: the layout's polylines, taken on to the borders of the boxes they belong to. */
import { type Visible } from "../graph/visible.ts";
import { type LayoutResult } from "../layout/types.ts";
import { type Sizes } from "./content.ts";
import { type Grid } from "./grid.ts";

/**
 * For each edge that one side alone has, where it can run straight down (NaN: nowhere). The layout keeps clear of both
 * sides' boxes; past a node that only the other pane shows, an edge that bends would bend around nothing.
 */
export function straightWays(visible: Visible, boxes: Float32Array, items: Grid): Float32Array {
  const ways = new Float32Array(visible.edgeCount).fill(NaN);
  for (let e = 0; e < visible.edgeCount; e++) {
    const side = visible.edgeSide[e];
    if (side === 3) continue;
    const [s, t] = [visible.source[e], visible.target[e]];
    const [left, right] = [
      Math.max(boxes[4 * s], boxes[4 * t]) + 20,
      Math.min(boxes[4 * s + 2], boxes[4 * t + 2]) - 20,
    ];
    const [top, bottom] = [boxes[4 * s + 3], boxes[4 * t + 1]];
    if (left > right || top >= bottom) continue;
    // Beside other edges into the same node, an edge keeps to its argument's place.
    const x = Math.min(right, Math.max(left, (boxes[4 * s] + boxes[4 * s + 2]) / 2));
    let free = true;
    items.query(x - 6, top + 1, x + 6, bottom - 1, (i) => {
      free &&= (visible.side[i] & side) === 0 || i === s || i === t;
    });
    if (free) ways[e] = x;
  }
  return ways;
}

export function edgePoints(
  visible: Visible,
  size: Sizes,
  x: Float32Array,
  y: Float32Array,
  route: Int32Array,
  result: LayoutResult,
  straight: Float32Array | null,
) {
  const offset = new Uint32Array(visible.edgeCount + 1);
  const { edgePoints: path, edgeOffset } = result;
  const free = (e: number) => route[e] < 0 || edgeOffset[route[e]] === edgeOffset[route[e] + 1];
  let most = 0;
  for (let e = 0; e < visible.edgeCount; e++)
    most += 2 + (free(e) ? 0 : edgeOffset[route[e] + 1] - edgeOffset[route[e]]);
  const points = new Points(most);
  for (let e = 0; e < visible.edgeCount; e++) {
    const s = visible.source[e];
    const t = visible.target[e];
    const below = y[s] + size.height[s] / 2;
    const above = y[t] - size.height[t] / 2;
    if (straight && !Number.isNaN(straight[e])) {
      points.put(straight[e], below);
      points.put(straight[e], above);
    } else if (free(e)) {
      points.put(x[s], below);
      points.put(x[t], above);
    } else {
      const first = edgeOffset[route[e]];
      const last = edgeOffset[route[e] + 1] - 1;
      // An item may be smaller than the place it shares; its edges go on to its own border.
      points.put(within(path[2 * first], x[s], size.width[s] / 2 - 6), below);
      if (Math.abs(path[2 * first + 1] - below) > 0.5) points.put(path[2 * first], path[2 * first + 1]);
      for (let p = first + 1; p < last; p++) points.put(path[2 * p], path[2 * p + 1]);
      if (Math.abs(path[2 * last + 1] - above) > 0.5) points.put(path[2 * last], path[2 * last + 1]);
      points.put(within(path[2 * last], x[t], size.width[t] / 2 - 6), above);
    }
    offset[e + 1] = points.count;
  }
  return { points: points.list.slice(0, 2 * points.count), pointOffset: offset };
}

function within(x: number, middle: number, half: number): number {
  return Math.min(middle + half, Math.max(middle - half, x));
}

class Points {
  readonly list: Float32Array;
  count = 0;
  constructor(most: number) {
    this.list = new Float32Array(2 * most);
  }

  put(x: number, y: number): void {
    this.list[2 * this.count] = x;
    this.list[2 * this.count++ + 1] = y;
  }
}

export function edgeBoxes(points: Float32Array, offset: Uint32Array): Float32Array {
  const boxes = new Float32Array(4 * (offset.length - 1));
  for (let e = 0; e + 1 < offset.length; e++) {
    let x0 = Infinity;
    let y0 = Infinity;
    let x1 = -Infinity;
    let y1 = -Infinity;
    for (let p = offset[e]; p < offset[e + 1]; p++) {
      x0 = Math.min(x0, points[2 * p]);
      x1 = Math.max(x1, points[2 * p]);
      y0 = Math.min(y0, points[2 * p + 1]);
      y1 = Math.max(y1, points[2 * p + 1]);
    }
    boxes[4 * e] = x0 - 4;
    boxes[4 * e + 1] = y0 - 4;
    boxes[4 * e + 2] = x1 + 4;
    boxes[4 * e + 3] = y1 + 4;
  }
  return boxes;
}
