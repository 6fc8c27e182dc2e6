/**
 * Boxes that no wire joins to anything - unused parameters, functions without a call - stand in columns at the right
 * of the rest, as tall as the rest or about square, instead of in one endless first layer.
 */
import { BOX } from "./hierarchy.ts";
import { type LevelGraph, type LevelLayout, onGrid, type Spacing, sizeOnGrid } from "./level.ts";

/** Local numbers of the wired items; all others are loose boxes. */
export function wiredItems(graph: LevelGraph): Uint32Array {
  const wired = new Uint8Array(graph.kind.length);
  for (const item of graph.source) wired[item] = 1;
  for (const item of graph.target) wired[item] = 1;
  return Uint32Array.from(wired.keys()).filter((i) => wired[i] === 1 || graph.kind[i] !== BOX);
}

/** The level without its loose boxes; wires keep their numbers. */
export function withoutLoose(graph: LevelGraph, wired: Uint32Array): LevelGraph {
  const number = new Uint32Array(graph.kind.length);
  wired.forEach((item, i) => {
    number[item] = i;
  });
  const pick = (column: Float32Array): Float32Array => Float32Array.from(wired, (i) => column[i]);
  return {
    ...graph,
    width: pick(graph.width),
    height: pick(graph.height),
    head: pick(graph.head),
    foot: pick(graph.foot),
    give: pick(graph.give),
    seedX: pick(graph.seedX),
    seedY: pick(graph.seedY),
    kind: Uint32Array.from(wired, (i) => graph.kind[i]),
    mainEntry: Uint32Array.from(wired, (i) => graph.mainEntry[i]),
    source: graph.source.map((i) => number[i]),
    target: graph.target.map((i) => number[i]),
  };
}

export function addLoose(
  graph: LevelGraph,
  wired: Uint32Array,
  layout: LevelLayout,
  { nodeGap }: Spacing,
): LevelLayout {
  const n = graph.kind.length,
    x = new Float32Array(n),
    y = new Float32Array(n),
    placed = new Uint8Array(n),
    squeeze = new Float32Array(n);
  wired.forEach((item, i) => {
    placed[item] = 1;
    x[item] = layout.x[i];
    y[item] = layout.y[i];
    squeeze[item] = layout.squeeze[i];
  });
  let area = 0,
    tallest = layout.height;
  for (let i = 0; i < n; i++) {
    if (placed[i]) continue;
    area += (graph.width[i] + nodeGap) * (graph.height[i] + nodeGap);
    tallest = Math.max(tallest, graph.height[i]);
  }
  const limit = Math.max(tallest, Math.sqrt(area));
  let left = layout.width > 0 ? layout.width + nodeGap : 0,
    right = left,
    top = 0,
    height = layout.height;
  for (let i = 0; i < n; i++) {
    if (placed[i]) continue;
    if (top > 0 && top + graph.height[i] > limit) {
      left = right + nodeGap;
      right = left;
      top = 0;
    }
    x[i] = onGrid(left + graph.width[i] / 2);
    y[i] = onGrid(top + graph.height[i] / 2);
    right = Math.max(right, left + graph.width[i]);
    height = Math.max(height, top + graph.height[i]);
    top += graph.height[i] + nodeGap;
  }
  return { ...layout, x, y, squeeze, width: sizeOnGrid(right), height: sizeOnGrid(height) };
}
