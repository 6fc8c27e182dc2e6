/** A picture with places: items, boxes and edges in world pixels, with the indexes that make drawing and pointing quick. */
import { type Visible } from "../graph/visible.ts";
import { type LayoutResult } from "../layout/types.ts";
import { type Box } from "./camera.ts";
import { type Sizes } from "./content.ts";
import { Grid } from "./grid.ts";
import { type Question } from "./question.ts";
import { edgeBoxes, edgePoints, straightWays } from "./routes.ts";
import { sideBoxes } from "./side_boxes.ts";

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
