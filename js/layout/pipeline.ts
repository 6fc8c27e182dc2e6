/** One level through Sugiyama's steps: layers, order, places, routes. */

import { row, rowsBy } from "../graph/csr.ts";
import { BOX } from "./hierarchy.ts";
import { assignLayers, type Layering } from "./layering.ts";
import { type LevelGraph, type LevelLayout, onGrid, type Spacing, sizeOnGrid } from "./level.ts";
import { FLOATS_BY_ITEM, WORDS_BY_ITEM } from "./levels.ts";
import { orderLayers, orderNear, type Scored } from "./ordering.ts";
import { placeVertices } from "./placing.ts";
import { route } from "./routing.ts";
import { type Strata, stratify } from "./strata.ts";

export function layoutLevel(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const wired = wiredItems(graph);
  if (wired.length === graph.kind.length) return layoutWired(graph, spacing);
  return addLoose(graph, wired, layoutWired(withoutLoose(graph, wired), spacing), spacing);
}

function layoutWired(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const { strata, order } = arrange(graph);
  return route(graph, strata, placeVertices(graph, strata, order, spacing), spacing);
}

/** Vertices and segments of a level that is arranged more than once. */
const SMALL = 1_000;

interface Arranged extends Scored {
  strata: Strata;
}

/**
 * Layers and order of one level. Where a small level keeps crossings, two changes of its structure are tried, and kept if
 * they pay: wires of one net part at once instead of sharing a trunk, and sources - parameters - get a row of their own
 * below the box they would otherwise stand beside, so that what leaves that box sideways passes around them.
 */
function arrange(graph: LevelGraph): Arranged {
  const layering = assignLayers(graph),
    strata = stratify(graph, layering);
  const plain = { strata, ...orderLayers(strata, graph.seedX, graph.haste) };
  if (plain.crossings === 0 || strata.count + strata.source.length > SMALL) return plain;
  const parted = partable(graph, strata) ? changed(graph, layering, plain) : plain;
  const best = parted.crossings < plain.crossings ? parted : plain;
  const rows = withRows(graph, layering, best);
  if (!rows) return best;
  const spread = changed(graph, rows, best);
  // A row costs height: each must take away a crossing.
  return spread.crossings + rows.count - layering.count <= best.crossings ? spread : best;
}

/** Other layers, or bends of each wire's own, ordered as before where nothing speaks against it. */
function changed(graph: LevelGraph, layering: Layering, from: Arranged): Arranged {
  const strata = stratify(graph, layering, true);
  const near = Float32Array.from(from.order.position.subarray(0, graph.kind.length));
  return { strata, ...orderNear(strata, near, graph.haste) };
}

/** Whether some net has several wires, and one of them has bends to share. */
function partable({ net }: LevelGraph, { bendCount }: Strata): boolean {
  const wires = new Map<number, number>(),
    bends = new Set<number>();
  net.forEach((n, w) => {
    wires.set(n, (wires.get(n) ?? 0) + 1);
    if (bendCount[w] > 0) bends.add(n);
  });
  return [...bends].some((n) => wires.get(n)! > 1);
}

/** The layers with a row more wherever a source's wire to the next layer is crossed; null where none is. */
function withRows(graph: LevelGraph, { layer, count }: Layering, arranged: Arranged): Layering | null {
  const inputs = new Uint8Array(graph.kind.length),
    next = new Int32Array(graph.kind.length).fill(count);
  for (const t of graph.target) inputs[t] = 1;
  graph.source.forEach((s, w) => {
    next[s] = Math.min(next[s], layer[graph.target[w]]);
  });
  const movable = (i: number): boolean =>
    i < graph.kind.length && graph.kind[i] === BOX && !inputs[i] && next[i] === layer[i] + 1;
  const rowBelow = crossedGaps(arranged, movable, count);
  if (!rowBelow.includes(1)) return null;
  const above = new Int32Array(count + 1);
  for (let l = 0; l < count; l++) above[l + 1] = above[l] + rowBelow[l];
  return {
    count: count + above[count],
    layer: layer.map((l, i) => l + above[l] + (rowBelow[l] && movable(i) ? 1 : 0)),
  };
}

/** 1 for each layer below which a segment of a movable item is crossed by one that is not. */
function crossedGaps({ strata, order }: Arranged, movable: (i: number) => boolean, count: number): Uint8Array {
  const { source, target, sourcePort, targetPort, layer } = strata,
    { position } = order;
  const crossed = new Uint8Array(count);
  const gaps = rowsBy(
    source.map((s) => layer[s]),
    count,
  );
  for (let l = 0; l < count; l++) {
    const segments = row(gaps, l);
    const above = (s: number): number => position[source[s]] + sourcePort[s] / 0x10000;
    const below = (s: number): number => position[target[s]] + targetPort[s] / 0x10000;
    for (const a of segments) {
      if (!movable(source[a])) continue;
      if (segments.some((b) => !movable(source[b]) && (above(a) - above(b)) * (below(a) - below(b)) < 0)) {
        crossed[l] = 1;
        break;
      }
    }
  }
  return crossed;
}

/** The numbers of the wired items. Boxes that no wire joins to anything stand in columns at the right, instead of in one endless first layer. */
function wiredItems(graph: LevelGraph): Uint32Array {
  const wired = new Uint8Array(graph.kind.length);
  for (const item of graph.source) wired[item] = 1;
  for (const item of graph.target) wired[item] = 1;
  return Uint32Array.from(wired.keys()).filter((i) => wired[i] === 1 || graph.kind[i] !== BOX);
}

/** The level without its loose boxes; wires keep their numbers. */
function withoutLoose(graph: LevelGraph, wired: Uint32Array): LevelGraph {
  const number = new Uint32Array(graph.kind.length);
  wired.forEach((item, i) => {
    number[item] = i;
  });
  return {
    ...graph,
    ...Object.fromEntries(FLOATS_BY_ITEM.map((name) => [name, Float32Array.from(wired, (i) => graph[name][i])])),
    ...Object.fromEntries(WORDS_BY_ITEM.map((name) => [name, wired.map((i) => graph[name][i])])),
    source: graph.source.map((i) => number[i]),
    target: graph.target.map((i) => number[i]),
  };
}

function addLoose(graph: LevelGraph, wired: Uint32Array, layout: LevelLayout, { nodeGap }: Spacing): LevelLayout {
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
