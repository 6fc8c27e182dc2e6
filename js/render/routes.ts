/** The ways of edges: the layout's polylines, taken on to the borders of the boxes they belong to. */
import { type Visible } from "../graph/visible.ts";
import type { LayoutResult } from "../layout/types.ts";
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
    const [left, right] = [Math.max(boxes[4 * s], boxes[4 * t]) + 20, Math.min(boxes[4 * s + 2], boxes[4 * t + 2]) - 20];
    const [top, bottom] = [boxes[4 * s + 3], boxes[4 * t + 1]];
    if (left > right || top >= bottom) continue;
    // Beside other edges into the same node, an edge keeps to its argument's place.
    const x = Math.min(right, Math.max(left, (boxes[4 * s] + boxes[4 * s + 2]) / 2));
    let free = true;
    items.query(x - 6, top + 1, x + 6, bottom - 1, (i) => { free &&= (visible.side[i] & side) === 0 || i === s || i === t; });
    if (free) ways[e] = x;
  }
  return ways;
}

export function edgePoints(visible: Visible, size: Sizes, x: Float32Array, y: Float32Array, route: Int32Array, result: LayoutResult, straight: Float32Array | null) {
  const offset = new Uint32Array(visible.edgeCount + 1);
  const points: number[] = [];
  for (let e = 0; e < visible.edgeCount; e++) {
    const [s, t] = [visible.source[e], visible.target[e]];
    const from = { x: x[s], y: y[s] + size.height[s] / 2, half: size.width[s] / 2 - 6 };
    const to = { x: x[t], y: y[t] - size.height[t] / 2, half: size.width[t] / 2 - 6 };
    if (straight && !Number.isNaN(straight[e])) points.push(straight[e], from.y, straight[e], to.y);
    else if (route[e] < 0) points.push(from.x, from.y, to.x, to.y);
    else {
      const path = result.edgePoints.subarray(2 * result.edgeOffset[route[e]], 2 * result.edgeOffset[route[e] + 1]);
      const last = path.length - 2;
      attach(points, path[0], path[1], from, false);
      for (let p = 2; p < last; p += 2) points.push(path[p], path[p + 1]);
      attach(points, path[last], path[last + 1], to, true);
    }
    offset[e + 1] = points.length / 2;
  }
  return { points: Float32Array.from(points), pointOffset: offset };
}

/** An item may be smaller than the place it shares; its edges go on to its own border. */
function attach(points: number[], px: number, py: number, end: { x: number; y: number; half: number }, arriving: boolean): void {
  const x = Math.min(end.x + end.half, Math.max(end.x - end.half, px));
  const apart = Math.abs(py - end.y) > 0.5;
  if (!apart) points.push(x, end.y);
  else if (arriving) points.push(px, py, x, end.y);
  else points.push(x, end.y, px, py);
}

export function edgeBoxes(points: Float32Array, offset: Uint32Array): Float32Array {
  const boxes = new Float32Array(4 * (offset.length - 1));
  for (let e = 0; e + 1 < offset.length; e++) {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let p = offset[e]; p < offset[e + 1]; p++) {
      x0 = Math.min(x0, points[2 * p]);
      x1 = Math.max(x1, points[2 * p]);
      y0 = Math.min(y0, points[2 * p + 1]);
      y1 = Math.max(y1, points[2 * p + 1]);
    }
    boxes.set([x0 - 4, y0 - 4, x1 + 4, y1 + 4], 4 * e);
  }
  return boxes;
}
