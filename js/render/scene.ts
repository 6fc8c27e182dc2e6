/** A picture with places: items, boxes and edges in world pixels, with the indexes that make drawing and pointing quick. */
import { groupName } from "../graph/labels.ts";
import { type Visible } from "../graph/visible.ts";
import type { LayoutInput, LayoutResult } from "../layout/types.ts";
import { type Box } from "./camera.ts";
import { HEADER, sizes, type Sizes } from "./content.ts";
import { Grid } from "./grid.ts";
import { type Slots } from "./slots.ts";
import { type Ruler } from "./text.ts";

/** The layout's own default, between a group's line and what is in it. */
const PADDING = 12;

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
  items: Grid;
  edges: Grid;
  /** Edges by item, for highlights. */
  edgesOf: (item: number) => number[];
}

export interface Seed {
  x: Float32Array;
  y: Float32Array;
}

/** What the layout is asked, and what is needed to read its answer. */
export interface Question {
  input: LayoutInput;
  slots: Slots;
  /** Which of the layout's edges each edge follows; -1 for a weak one, which is drawn freely. */
  route: Int32Array;
}

export function layoutInput(visible: Visible, size: Sizes, ruler: Ruler, slots: Slots, seed: Seed | undefined): Question {
  const { groups } = visible.picture;
  const width = new Float32Array(slots.count);
  const height = new Float32Array(slots.count);
  const group = new Int32Array(slots.count);
  const at = { x: new Float32Array(slots.count).fill(NaN), y: new Float32Array(slots.count).fill(NaN) };
  for (let i = 0; i < visible.count; i++) {
    const slot = slots.of[i];
    width[slot] = Math.max(width[slot], size.width[i]);
    height[slot] = Math.max(height[slot], size.height[i]);
    group[slot] = visible.parent[i];
    if (!seed || Number.isNaN(seed.x[i])) continue;
    at.x[slot] = seed.x[i];
    at.y[slot] = seed.y[i];
  }
  const { edges, route } = slotEdges(visible, slots);
  return {
    slots, route,
    input: {
      nodes: { width, height, group },
      edges,
      groups: {
        parent: visible.openParent,
        headerHeight: new Float32Array(visible.open.length).fill(HEADER),
        minWidth: Float32Array.from(visible.open, (g) => headerWidth(groups.name[g], ruler)),
      },
      options: { nodeGap: 22, layerGap: 32, padding: PADDING },
      ...(seed ? { seed: at } : {}),
    },
  };
}

/** Room for a group's name and chevron; a very long name is cut rather than make its group wide. */
function headerWidth(name: string, ruler: Ruler): number {
  return Math.min(240, ruler.width(groupName(name), 11, true) + 40);
}

function slotEdges(visible: Visible, slots: Slots): { edges: LayoutInput["edges"]; route: Int32Array } {
  const route = new Int32Array(visible.edgeCount).fill(-1);
  const known = new Map<string, number>();
  const source: number[] = [];
  const target: number[] = [];
  const port: number[] = [];
  for (let e = 0; e < visible.edgeCount; e++) {
    if (visible.weak[e]) continue;
    const [s, t] = [slots.of[visible.source[e]], slots.of[visible.target[e]]];
    const key = slots.count < visible.count ? `${s},${t},${visible.port[e]}` : "";
    const same = key ? known.get(key) : undefined;
    if (same !== undefined) {
      route[e] = same;
      continue;
    }
    route[e] = source.length;
    if (key) known.set(key, source.length);
    source.push(s);
    target.push(t);
    port.push(visible.port[e]);
  }
  return { route, edges: { source: Uint32Array.from(source), target: Uint32Array.from(target), port: Uint16Array.from(port) } };
}

export function buildScene(visible: Visible, size: Sizes, question: Question, result: LayoutResult): Scene {
  const { of } = question.slots;
  const x = Float32Array.from(of, (slot) => result.x[slot]);
  const y = Float32Array.from(of, (slot) => result.y[slot]);
  const boxes = new Float32Array(4 * visible.count);
  for (let i = 0; i < visible.count; i++) {
    boxes.set([x[i] - size.width[i] / 2, y[i] - size.height[i] / 2, x[i] + size.width[i] / 2, y[i] + size.height[i] / 2], 4 * i);
  }
  const items = new Grid(boxes, result.width, result.height);
  const straight = question.slots.count < visible.count || visible.picture.compares ? straightWays(visible, boxes, items) : null;
  const { points, pointOffset } = edgePoints(visible, size, x, y, question.route, result, straight);
  const drawn: (Float32Array | undefined)[] = [];
  const minWidth = question.input.groups.minWidth;
  let byItem: Map<number, number[]> | null = null;
  return {
    visible, size, x, y, groupBox: result.groupBox,
    sideBox: (sides) => (drawn[sides] ??= shrink(visible, boxes, result.groupBox, minWidth, sides)),
    points, pointOffset,
    width: result.width, height: result.height,
    items,
    edges: new Grid(edgeBoxes(points, pointOffset), result.width, result.height),
    edgesOf(item) {
      byItem ??= edgesByItem(visible);
      return byItem.get(item) ?? [];
    },
  };
}

/**
 * A box that also holds nodes of the other side is drawn around this side's only: its kernel is as large as its ops.
 * What is empty on this side gets a box without area.
 */
function shrink(visible: Visible, items: Float32Array, groupBox: Float32Array, minWidth: Float32Array, sides: number): Float32Array {
  if (!visible.picture.compares || sides === 3) return groupBox;
  const out = groupBox.slice();
  const whole = new Uint8Array(visible.open.length).fill(1);
  const bounds = new Float32Array(groupBox.length);
  for (let g = 0; g < visible.open.length; g++) bounds.set([Infinity, Infinity, -Infinity, -Infinity], 4 * g);
  const widen = (g: number, x0: number, y0: number, x1: number, y1: number) => bounds.set([
    Math.min(bounds[4 * g], x0), Math.min(bounds[4 * g + 1], y0), Math.max(bounds[4 * g + 2], x1), Math.max(bounds[4 * g + 3], y1),
  ], 4 * g);
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

function edgePoints(visible: Visible, size: Sizes, x: Float32Array, y: Float32Array, route: Int32Array, result: LayoutResult, straight: Float32Array | null) {
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
    boxes.set([x0 - 4, y0 - 4, x1 + 4, y1 + 4], 4 * e);
  }
  return boxes;
}

export function itemBox(scene: Scene, i: number): Box {
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

export { sizes };
