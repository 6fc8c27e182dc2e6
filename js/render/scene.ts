/** A picture with places: items, boxes and edges in world pixels, with the indexes that make drawing and pointing quick. */
import { type Visible } from "../graph/visible.ts";
import type { LayoutInput, LayoutResult } from "../layout/types.ts";
import { type Box } from "./camera.ts";
import { HEADER, sizes, type Sizes } from "./content.ts";
import { Grid } from "./grid.ts";
import { oneLine, type Ruler } from "./text.ts";

export interface Scene {
  visible: Visible;
  size: Sizes;
  x: Float32Array;
  y: Float32Array;
  /** x, y, width, height for each of visible.open. */
  groupBox: Float32Array;
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

/** Edges the layout is told about; a weak edge (one that only the other side has, against the flow) is drawn freely. */
export function layoutInput(visible: Visible, size: Sizes, ruler: Ruler, seed: Seed | undefined): { input: LayoutInput; strong: Uint32Array } {
  const strong = Uint32Array.from([...visible.source.keys()].filter((e) => !visible.weak[e]));
  const { groups } = visible.picture;
  return {
    strong,
    input: {
      nodes: { width: size.width, height: size.height, group: visible.parent },
      edges: {
        source: strong.map((e) => visible.source[e]),
        target: strong.map((e) => visible.target[e]),
        port: Uint16Array.from(strong, (e) => visible.port[e]),
      },
      groups: {
        parent: visible.openParent,
        headerHeight: new Float32Array(visible.open.length).fill(HEADER),
        minWidth: Float32Array.from(visible.open, (g) => Math.min(220, ruler.width(oneLine(groups.name[g]), 11, true) + 34)),
      },
      ...(seed ? { seed } : {}),
    },
  };
}

export function buildScene(visible: Visible, size: Sizes, strong: Uint32Array, result: LayoutResult): Scene {
  const { points, pointOffset } = edgePoints(visible, size, strong, result);
  const boxes = new Float32Array(4 * visible.count);
  for (let i = 0; i < visible.count; i++) {
    boxes.set([
      result.x[i] - size.width[i] / 2, result.y[i] - size.height[i] / 2,
      result.x[i] + size.width[i] / 2, result.y[i] + size.height[i] / 2,
    ], 4 * i);
  }
  let byItem: Map<number, number[]> | null = null;
  return {
    visible, size, x: result.x, y: result.y, groupBox: result.groupBox, points, pointOffset,
    width: result.width, height: result.height,
    items: new Grid(boxes, result.width, result.height),
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

function edgePoints(visible: Visible, size: Sizes, strong: Uint32Array, result: LayoutResult) {
  const offset = new Uint32Array(visible.edgeCount + 1);
  const place = new Int32Array(visible.edgeCount).fill(-1);
  strong.forEach((e, i) => { place[e] = i; });
  for (let e = 0; e < visible.edgeCount; e++) {
    const count = place[e] < 0 ? 2 : result.edgeOffset[place[e] + 1] - result.edgeOffset[place[e]];
    offset[e + 1] = offset[e] + count;
  }
  const points = new Float32Array(2 * offset[visible.edgeCount]);
  for (let e = 0; e < visible.edgeCount; e++) {
    const i = place[e];
    if (i >= 0) points.set(result.edgePoints.subarray(2 * result.edgeOffset[i], 2 * result.edgeOffset[i + 1]), 2 * offset[e]);
    else {
      const s = visible.source[e];
      const t = visible.target[e];
      points.set([result.x[s], result.y[s] + size.height[s] / 2, result.x[t], result.y[t] - size.height[t] / 2], 2 * offset[e]);
    }
  }
  return { points, pointOffset: offset };
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
