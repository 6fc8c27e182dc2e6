/** A picture with places: items, boxes and edges in world pixels, with the indexes that make drawing and pointing quick. */
import { type Rows, row, rowsBy } from "../graph/csr.ts";
import { type Visible } from "../graph/visible.ts";
import { type LayoutResult } from "../layout/types.ts";
import { type Box } from "./camera.ts";
import { HEADER, type Sizes } from "./content.ts";
import { Grid } from "./grid.ts";
import { PADDING, type Question, type Seed } from "./question.ts";

interface Places {
  visible: Visible;
  size: Sizes;
  x: Float32Array;
  y: Float32Array;
  /** x, y, width, height for each of visible.open, as laid out. */
  groupBox: Float32Array;
  points: Float32Array;
  pointOffset: Uint32Array;
  width: number;
  height: number;
  /** The data flows to the right: see turnedScene. */
  turned?: boolean;
}

export interface Scene extends Places {
  /** Left, top, right, bottom of each item. */
  boxes: Float32Array;
  /** The groups' boxes as drawn on one side, without the other's nodes. */
  sideBox: (sides: number) => Float32Array;
  items: Grid;
  edges: Grid;
  /** Edges by item, for highlights. */
  edgesOf: (item: number) => Uint32Array;
}

export function buildScene(visible: Visible, size: Sizes, question: Question, result: LayoutResult): Scene {
  const { slots, route, input } = question;
  const { width, height, groupBox } = result;
  const x = new Float32Array(visible.count).map((_, i) => result.x[slots.of[i]]);
  const y = new Float32Array(visible.count).map((_, i) => result.y[slots.of[i]]);
  const boxes = itemBoxes(size, x, y);
  const items = new Grid(boxes, width, height);
  const straight = visible.picture.compares ? straightWays(visible, boxes, items) : null;
  const { points, pointOffset } = edgePoints({ visible, size, x, y }, route, result, straight);
  const places = { visible, size, x, y, groupBox, points, pointOffset, width, height };
  return indexed(places, input.groups.minWidth, boxes, items);
}

/** A picture with its indexes; groups are at least so wide that their names have room. */
function indexed(places: Places, minWidth: Float32Array, boxes: Float32Array, items: Grid): Scene {
  const { visible, groupBox, points, pointOffset, width, height } = places;
  const drawn: (Float32Array | undefined)[] = [];
  let byItem: Rows | null = null;
  return {
    ...places,
    boxes,
    sideBox: (sides) => (drawn[sides] ??= sideBoxes(visible, boxes, groupBox, minWidth, sides)),
    items,
    edges: new Grid(edgeBoxes(points, pointOffset), width, height),
    edgesOf(item) {
      byItem ??= edgesByItem(visible);
      return row(byItem, item);
    },
  };
}

function itemBoxes(size: Sizes, x: Float32Array, y: Float32Array): Float32Array {
  const boxes = new Float32Array(4 * x.length);
  for (let i = 0; i < x.length; i++) {
    boxes[4 * i] = x[i] - size.width[i] / 2;
    boxes[4 * i + 1] = y[i] - size.height[i] / 2;
    boxes[4 * i + 2] = x[i] + size.width[i] / 2;
    boxes[4 * i + 3] = y[i] + size.height[i] / 2;
  }
  return boxes;
}

function edgesByItem({ count, edgeCount, source, target }: Visible): Rows {
  const ends = new Uint32Array(2 * edgeCount).map((_, k) => (k % 2 ? target : source)[k >> 1]);
  const { offset, items } = rowsBy(ends, count);
  return { offset, items: items.map((k) => k >> 1) };
}

/** The items of some sides that touch a rectangle. */
export function itemsIn(
  { items, visible: { side } }: Pick<Scene, "items" | "visible">,
  sides: number,
  [left, top, right, bottom]: readonly [number, number, number, number],
): number[] {
  const found: number[] = [];
  items.query(left, top, right, bottom, (i) => {
    if (side[i] & sides) found.push(i);
  });
  return found;
}

/** The smallest box around some items; null for none. */
export function around(scene: Scene, items: Iterable<number>): Box | null {
  const { x, y, size } = scene;
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const i of items) {
    const [width, height] = [size.width[i], size.height[i]];
    const [left, top] = [x[i] - width / 2, y[i] - height / 2];
    [x0, y0] = [Math.min(x0, left), Math.min(y0, top)];
    [x1, y1] = [Math.max(x1, left + width), Math.max(y1, top + height)];
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
    const between = itemsIn({ items, visible }, side, [x - 6, top + 1, x + 6, bottom - 1]);
    if (between.every((i) => i === s || i === t)) ways[e] = x;
  }
  return ways;
}

function edgePoints(
  { visible, size, x, y }: Pick<Places, "visible" | "size" | "x" | "y">,
  route: Int32Array,
  { edgePoints: path, edgeOffset }: LayoutResult,
  straight: Float32Array | null,
) {
  const pointOffset = new Uint32Array(visible.edgeCount + 1);
  const free = (e: number) => route[e] < 0 || edgeOffset[route[e]] === edgeOffset[route[e] + 1];
  let most = 0;
  for (let e = 0; e < visible.edgeCount; e++)
    most += free(e) ? 4 : 4 + 2 * (edgeOffset[route[e] + 1] - edgeOffset[route[e]]);
  const points = new Float32Array(most);
  let n = 0;
  const put = (x: number, y: number): void => {
    points[n++] = x;
    points[n++] = y;
  };
  for (let e = 0; e < visible.edgeCount; e++) {
    const s = visible.source[e];
    const t = visible.target[e];
    const below = y[s] + size.height[s] / 2;
    const above = y[t] - size.height[t] / 2;
    if (straight && !Number.isNaN(straight[e])) {
      put(straight[e], below);
      put(straight[e], above);
    } else if (free(e)) {
      put(x[s], below);
      put(x[t], above);
    } else {
      const first = edgeOffset[route[e]];
      const last = edgeOffset[route[e] + 1] - 1;
      // An item may be smaller than the place it shares; its edges go on to its own border.
      put(within(path[2 * first], x[s], size.width[s] / 2 - 6), below);
      if (Math.abs(path[2 * first + 1] - below) > 0.5) put(path[2 * first], path[2 * first + 1]);
      for (let p = first + 1; p < last; p++) put(path[2 * p], path[2 * p + 1]);
      if (Math.abs(path[2 * last + 1] - above) > 0.5) put(path[2 * last], path[2 * last + 1]);
      put(within(path[2 * last], x[t], size.width[t] / 2 - 6), above);
    }
    pointOffset[e + 1] = n / 2;
  }
  return { points: points.slice(0, n), pointOffset };
}

function within(x: number, middle: number, half: number): number {
  return Math.min(middle + half, Math.max(middle - half, x));
}

function edgeBoxes(points: Float32Array, offset: Uint32Array): Float32Array {
  const boxes = new Float32Array(4 * (offset.length - 1));
  for (let e = 0; e + 1 < offset.length; e++) {
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
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
function sideBoxes(
  visible: Visible,
  items: Float32Array,
  groupBox: Float32Array,
  minWidth: Float32Array,
  sides: number,
): Float32Array {
  if (!visible.picture.compares || sides === 3) return groupBox;
  const out = groupBox.slice();
  const whole = new Uint8Array(visible.open.length).fill(1);
  const bounds = new Float32Array(groupBox.length).map((_, k) => (k % 4 < 2 ? Infinity : -Infinity));
  const widen = (g: number, x0: number, y0: number, x1: number, y1: number) => {
    bounds[4 * g] = Math.min(bounds[4 * g], x0);
    bounds[4 * g + 1] = Math.min(bounds[4 * g + 1], y0);
    bounds[4 * g + 2] = Math.max(bounds[4 * g + 2], x1);
    bounds[4 * g + 3] = Math.max(bounds[4 * g + 3], y1);
  };
  for (let i = 0; i < visible.count; i++) {
    const g = visible.parent[i];
    if (g < 0) continue;
    if (visible.side[i] & sides) widen(g, items[4 * i], items[4 * i + 1], items[4 * i + 2], items[4 * i + 3]);
    else whole[g] = 0;
  }
  // Innermost first: open groups come parents first.
  for (let g = visible.open.length - 1; g >= 0; g--) {
    if (!whole[g]) {
      const [x0, y0, x1, y1] = bounds.subarray(4 * g, 4 * g + 4);
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

// Data that flows to the right: the layout works as ever, on boxes that lie on their sides, and its answer is turned back. So a
// box keeps its words the right way up. A group's name stands above what is in it, which is beside it to the layout: above and
// below get room for a name, and the lower line is drawn closer.

const ROOM = HEADER + 4;
const SPARE = ROOM - PADDING;
/** Arrows that lie need a little more than arrows that fall. */
const MORE_BETWEEN_LAYERS = 10;
const BETWEEN_NODES = 16;

export function turnedSizes(size: Sizes): Sizes {
  return { width: size.height, height: size.width };
}

export function swapped(seed: Seed): Seed {
  return { x: seed.y, y: seed.x };
}

export function asksToTheRight(question: Question): Question {
  const { groups, options } = question.input;
  const none = new Float32Array(groups.parent.length);
  return {
    ...question,
    input: {
      ...question.input,
      groups: { ...groups, headerHeight: none, minWidth: none },
      options: {
        ...options,
        nodeGap: BETWEEN_NODES,
        layerGap: (options?.layerGap ?? 32) + MORE_BETWEEN_LAYERS,
        padding: ROOM,
        verticalPadding: PADDING,
      },
    },
  };
}

/** The scene as it is drawn; `size` has the boxes upright. */
export function turnedScene(laid: Scene, size: Sizes): Scene {
  const swap = (pairs: Float32Array) => pairs.map((_, i) => pairs[i ^ 1]);
  const groupBox = swap(laid.groupBox).map((at, i) => (i % 4 === 3 ? at - SPARE : at));
  const [x, y, width, height] = [laid.y, laid.x, laid.height, laid.width];
  const places = { ...laid, size, x, y, groupBox, points: swap(laid.points), width, height, turned: true };
  const boxes = itemBoxes(size, x, y);
  return indexed(places, new Float32Array(laid.visible.open.length), boxes, new Grid(boxes, width, height));
}
