/** A picture with places: items, boxes and edges in world pixels, with the indexes that make drawing and pointing quick. */
import { type Visible } from "../graph/visible.ts";
import { type LayoutResult } from "../layout/types.ts";
import { type Box } from "./camera.ts";
import { HEADER, type Sizes } from "./content.ts";
import { Grid } from "./grid.ts";
import { PADDING, type Question } from "./question.ts";

export interface Scene {
  visible: Visible;
  size: Sizes;
  x: Float32Array;
  y: Float32Array;
  /** x, y, width, height for each of visible.open, as laid out; and as drawn on one side, without the other's nodes. */
  groupBox: Float32Array;
  sideBox: (sides: number) => Float32Array;
  points: Float32Array;
  pointOffset: Uint32Array;
  width: number;
  height: number;
  /** The data flows to the right: see turned.ts. */
  turned?: boolean;
  items: Grid;
  edges: Grid;
  /** Edges by item, for highlights. */
  edgesOf: (item: number) => number[];
}

export function buildScene(visible: Visible, size: Sizes, question: Question, result: LayoutResult): Scene {
  const { of } = question.slots;
  const x = new Float32Array(visible.count);
  const y = new Float32Array(visible.count);
  const boxes = new Float32Array(4 * visible.count);
  for (let i = 0; i < visible.count; i++) {
    x[i] = result.x[of[i]];
    y[i] = result.y[of[i]];
    boxes[4 * i] = x[i] - size.width[i] / 2;
    boxes[4 * i + 1] = y[i] - size.height[i] / 2;
    boxes[4 * i + 2] = x[i] + size.width[i] / 2;
    boxes[4 * i + 3] = y[i] + size.height[i] / 2;
  }
  const items = new Grid(boxes, result.width, result.height);
  const straight =
    question.slots.count < visible.count || visible.picture.compares ? straightWays(visible, boxes, items) : null;
  const { points, pointOffset } = edgePoints(visible, size, x, y, question.route, result, straight);
  const drawn: (Float32Array | undefined)[] = [];
  const minWidth = question.input.groups.minWidth;
  let byItem: Map<number, number[]> | null = null;
  return {
    visible,
    size,
    x,
    y,
    groupBox: result.groupBox,
    sideBox: (sides) => (drawn[sides] ??= sideBoxes(visible, boxes, result.groupBox, minWidth, sides)),
    points,
    pointOffset,
    width: result.width,
    height: result.height,
    items,
    edges: new Grid(edgeBoxes(points, pointOffset), result.width, result.height),
    edgesOf(item) {
      byItem ??= edgesByItem(visible);
      return byItem.get(item) ?? [];
    },
  };
}

function edgesByItem(visible: Visible): Map<number, number[]> {
  const map = new Map<number, number[]>();
  for (let e = 0; e < visible.edgeCount; e++) {
    for (const item of [visible.source[e], visible.target[e]]) {
      const list = map.get(item);
      if (list) list.push(e);
      else map.set(item, [e]);
    }
  }
  return map;
}

function itemBox(scene: Scene, i: number): Box {
  const width = scene.size.width[i];
  const height = scene.size.height[i];
  return { x: scene.x[i] - width / 2, y: scene.y[i] - height / 2, width, height };
}

/** The smallest box around some items; null for none. */
export function around(scene: Scene, items: Iterable<number>): Box | null {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const i of items) {
    const box = itemBox(scene, i);
    x0 = Math.min(x0, box.x);
    y0 = Math.min(y0, box.y);
    x1 = Math.max(x1, box.x + box.width);
    y1 = Math.max(y1, box.y + box.height);
  }
  return x0 <= x1 ? { x: x0, y: y0, width: x1 - x0, height: y1 - y0 } : null;
}

/**
 * For each edge that one side alone has, where it can run straight down (NaN: nowhere). The layout keeps clear of both
 * sides' boxes; past a node that only the other pane shows, an edge that bends would bend around nothing.
 */
function straightWays(visible: Visible, boxes: Float32Array, items: Grid): Float32Array {
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

function edgePoints(
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

/**
 * Groups as one side has them: a box that also holds nodes of the other side is drawn around this side's only, so its
 * kernel is as large as its ops. What is empty on this side gets a box without area.
 */
export function sideBoxes(
  visible: Visible,
  items: Float32Array,
  groupBox: Float32Array,
  minWidth: Float32Array,
  sides: number,
): Float32Array {
  if (!visible.picture.compares || sides === 3) return groupBox;
  const out = groupBox.slice();
  const whole = new Uint8Array(visible.open.length).fill(1);
  const bounds = new Float32Array(groupBox.length);
  for (let g = 0; g < visible.open.length; g++) bounds.set([Infinity, Infinity, -Infinity, -Infinity], 4 * g);
  const widen = (g: number, x0: number, y0: number, x1: number, y1: number) =>
    bounds.set(
      [
        Math.min(bounds[4 * g], x0),
        Math.min(bounds[4 * g + 1], y0),
        Math.max(bounds[4 * g + 2], x1),
        Math.max(bounds[4 * g + 3], y1),
      ],
      4 * g,
    );
  for (let i = 0; i < visible.count; i++) {
    const g = visible.parent[i];
    if (g < 0) continue;
    if (visible.side[i] & sides) widen(g, items[4 * i], items[4 * i + 1], items[4 * i + 2], items[4 * i + 3]);
    else whole[g] = 0;
  }
  // Innermost first: open groups come parents first.
  for (let g = visible.open.length - 1; g >= 0; g--) {
    const [x0, y0, x1, y1] = bounds.subarray(4 * g, 4 * g + 4);
    if (!whole[g]) {
      const [lx, ly, lw, lh] = groupBox.subarray(4 * g, 4 * g + 4);
      if (x0 > x1) out.set([lx, ly, 0, 0], 4 * g);
      else {
        const left = Math.max(lx, x0 - PADDING);
        const top = Math.max(ly, y0 - PADDING - HEADER);
        const right = Math.min(lx + lw, Math.max(x1 + PADDING, left + minWidth[g]));
        out.set([left, top, right - left, Math.min(ly + lh, y1 + PADDING) - top], 4 * g);
      }
    }
    const above = visible.openParent[g];
    if (above < 0 || out[4 * g + 2] === 0) continue;
    widen(above, out[4 * g], out[4 * g + 1], out[4 * g] + out[4 * g + 2], out[4 * g + 1] + out[4 * g + 3]);
    if (!whole[g]) whole[above] = 0;
  }
  return out;
}
