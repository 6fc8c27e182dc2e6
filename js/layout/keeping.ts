/**
 * y coordinates with a previous picture: every box stays at the height it had, as long as it is below all that the order
 * puts above it at its x, and slanted wires keep room. What grows uses up the space below it first, so a change moves
 * little. A strip of the picture that has become empty closes.
 */

import { type Rows, row, rowsBy } from "../graph/csr.ts";
import { ENTRY, EXIT } from "./hierarchy.ts";
import { type LevelGraph } from "./level.ts";
import { type Pieces, type Strata } from "./strata.ts";

export interface Heights {
  /** Item centres. */
  y: Float64Array;
  /** Where the slanted part of each piece begins and ends; NaN where it runs straight down. */
  slantTop: Float64Array;
  slantBottom: Float64Array;
  height: number;
  /** As in LevelLayout. */
  give: number;
  squeeze: Float32Array;
}

/** Between a box and one straight below it, and beside a box, at the least. */
const LEAST_GAP = 12,
  MARGIN = 4;
/** Between a source and what it feeds: room for a slant. */
const SOURCE_GAP = 20;
/** The largest empty strip kept, and the share of the picture that all may make up. */
const LARGEST_HOLE = 160,
  SHARE = 0.2;

export function keepHeights(
  graph: LevelGraph,
  strata: Strata,
  x: Float64Array,
  pieces: Pieces,
  gap: Float64Array,
): Heights {
  const items = rowsBy(strata.layer.subarray(0, strata.itemCount), strata.layerCount);
  const level = new Level(graph, strata, x, items, clusterSlants(pieces, strata.layerCount), gap);
  const want = wanted(graph, strata, gap);
  let swept = level.sweep(want);
  if (closeStrips(graph, swept.y, want, gap)) swept = level.sweep(want);
  const { slantTop, slantBottom } = level.slants(swept);
  const pick = (of: Float64Array): Float64Array => Float64Array.from(level.cluster.of, (c) => (c < 0 ? NaN : of[c]));
  return { ...swept, give: level.give(swept), slantTop: pick(slantTop), slantBottom: pick(slantBottom) };
}

/**
 * The previous heights, moved so that the highest is at the top. A source wants to stand above what it feeds: when that has
 * become part of a kernel, the parameter makes way for the kernel's box, not the kernel for the parameter.
 */
function wanted(graph: LevelGraph, { layer }: Strata, gap: Float64Array): Float64Array {
  const want = Float64Array.from(graph.seedY),
    { height } = graph;
  let top = Infinity;
  for (let i = 0; i < want.length; i++) if (!Number.isNaN(want[i])) top = Math.min(top, want[i] - height[i] / 2);
  for (let i = 0; i < want.length; i++) want[i] -= top;
  const fed = new Uint8Array(want.length),
    feeds = new Float64Array(want.length).fill(Infinity);
  for (const t of graph.target) fed[t] = 1;
  for (let w = 0; w < graph.source.length; w++) {
    const s = graph.source[w],
      t = graph.target[w];
    const room = Number.isNaN(graph.seedY[s]) ? gap[layer[t] - 1] : SOURCE_GAP;
    if (!Number.isNaN(graph.seedY[t])) feeds[s] = Math.min(feeds[s], want[t] - height[t] / 2 - room);
  }
  for (let i = 0; i < want.length; i++)
    if (!fed[i] && graph.kind[i] !== ENTRY && feeds[i] < Infinity && !(want[i] <= feeds[i] - height[i] / 2))
      want[i] = feeds[i] - height[i] / 2;
  return want;
}

/** Lowers what is wanted below an empty strip that is too large, or one too many; whether there was any. */
function closeStrips(graph: LevelGraph, y: Float64Array, want: Float64Array, gap: Float64Array): boolean {
  const order = Array.from(y.keys()).filter((i) => graph.kind[i] !== ENTRY && graph.kind[i] !== EXIT);
  const top = (i: number): number => y[i] - graph.height[i] / 2;
  order.sort((a, b) => top(a) - top(b) || a - b);
  const natural = gap.reduce((a, b) => Math.max(a, b), 0);
  let bottom = 0,
    kept = 0,
    closed = 0;
  for (const i of order) {
    const hole = top(i) - bottom - natural;
    if (hole > 0) {
      if (hole > LARGEST_HOLE || kept + hole > SHARE * top(i) + LARGEST_HOLE) closed += hole;
      else kept += hole;
    }
    bottom = Math.max(bottom, y[i] + graph.height[i] / 2);
    want[i] -= closed;
  }
  return closed > 0;
}

interface Swept {
  y: Float64Array;
  /** How high each cluster of slants may begin. */
  earliest: Float64Array;
  squeeze: Float32Array;
  height: number;
}

class Level {
  constructor(
    private readonly graph: LevelGraph,
    private readonly strata: Strata,
    private readonly x: Float64Array,
    private readonly items: Rows,
    readonly cluster: Slants,
    private readonly gap: Float64Array,
  ) {}

  /** Top to bottom: each item where it is wanted or just below what is above it; clusters as high as they can be. */
  sweep(want: Float64Array): Swept {
    const { graph, items, cluster, gap } = this,
      { layerCount } = this.strata;
    const y = new Float64Array(want.length),
      squeeze = new Float32Array(want.length),
      earliest = new Float64Array(cluster.layer.length);
    const sky = new Skyline(0);
    let height = 0,
      c = 0;
    for (let l = 0; l < layerCount; l++) {
      const across = row(items, l);
      for (const i of across) {
        if (graph.kind[i] === EXIT) {
          y[i] = height;
          continue;
        }
        const half = graph.height[i] / 2,
          { box, all } = sky.below(...this.span(i));
        const least = Math.max(all, box + LEAST_GAP) + half;
        y[i] = Number.isNaN(want[i]) ? Math.max(least, l > 0 ? box + gap[l - 1] + half : 0) : Math.max(least, want[i]);
        squeeze[i] = Math.min(y[i] - want[i], graph.give[i]) || 0;
      }
      for (const i of across) {
        const bottom = y[i] + graph.height[i] / 2 - squeeze[i];
        height = Math.max(height, bottom);
        if (graph.kind[i] === 0) sky.put(...this.span(i), bottom, true);
      }
      for (; c < cluster.layer.length && cluster.layer[c] === l; c++) {
        earliest[c] = sky.below(cluster.left[c], cluster.right[c]).all;
        sky.put(cluster.left[c], cluster.right[c], earliest[c] + cluster.least[c], false);
        height = Math.max(height, earliest[c] + cluster.least[c]);
      }
    }
    return { y, earliest, squeeze, height };
  }

  /** Bottom to top: each cluster ends just above what is below it, and is as high as a comfortable slant if it can be. */
  slants({ y, earliest, height }: Swept): { slantTop: Float64Array; slantBottom: Float64Array } {
    const { graph, items, cluster, gap } = this,
      { layerCount } = this.strata;
    const slantTop = new Float64Array(earliest.length),
      slantBottom = new Float64Array(earliest.length);
    const sky = new Skyline(-height);
    for (let l = layerCount - 1, c = earliest.length - 1; l >= 0; l--) {
      for (; c >= 0 && cluster.layer[c] === l; c--) {
        slantBottom[c] = -sky.below(cluster.left[c], cluster.right[c]).all;
        slantTop[c] = Math.max(earliest[c], slantBottom[c] - Math.max(gap[l], cluster.least[c]));
      }
      for (let k = c + 1; k < earliest.length && cluster.layer[k] === l; k++)
        sky.put(cluster.left[k], cluster.right[k], -slantTop[k], false);
      for (const i of row(items, l))
        if (graph.kind[i] === 0) sky.put(...this.span(i), -(y[i] - graph.height[i] / 2), true);
    }
    return { slantTop, slantBottom };
  }

  /** How far the highest box could come down with the level's height as it is. */
  give({ y, earliest, height }: Swept): number {
    const { graph, items, cluster } = this;
    const sky = new Skyline(-height);
    let now = Infinity,
      then = Infinity;
    for (let l = this.strata.layerCount - 1, c = earliest.length - 1; l >= 0; l--) {
      for (; c >= 0 && cluster.layer[c] === l; c--)
        sky.put(
          cluster.left[c],
          cluster.right[c],
          sky.below(cluster.left[c], cluster.right[c]).all + cluster.least[c],
          false,
        );
      const boxes = [...row(items, l)].filter((i) => graph.kind[i] === 0);
      const lowest = boxes.map((i) => {
        const { box, all } = sky.below(...this.span(i));
        return -Math.max(all, box + LEAST_GAP) - graph.height[i];
      });
      boxes.forEach((i, k) => {
        sky.put(...this.span(i), -lowest[k], true);
        now = Math.min(now, y[i] - graph.height[i] / 2);
        then = Math.min(then, lowest[k]);
      });
    }
    return now < then ? then - now : 0;
  }

  private span(i: number): [number, number] {
    const half = this.graph.width[i] / 2 + MARGIN;
    return [this.x[i] - half, this.x[i] + half];
  }
}

/** How far down a picture is filled, over its width: what a thing put at some x must stay below. */
export class Skyline {
  /** Piece i reaches from edge[i] to edge[i + 1]. */
  private readonly edge = [-Infinity, Infinity];
  /** The lowest end of any box there, and of anything at all. */
  private readonly box = [-Infinity];
  private readonly all: number[];

  constructor(top: number) {
    this.all = [top];
  }

  /** The lowest end between two x: of boxes, and of anything. */
  below(x0: number, x1: number): { box: number; all: number } {
    let box = -Infinity,
      all = -Infinity;
    for (let i = this.pieceAt(x0); i < this.all.length && this.edge[i] < x1; i++) {
      box = Math.max(box, this.box[i]);
      all = Math.max(all, this.all[i]);
    }
    return { box, all };
  }

  put(x0: number, x1: number, bottom: number, isBox: boolean): void {
    if (x1 <= x0) return;
    const first = this.cut(x0),
      end = this.cut(x1);
    if (isBox) {
      this.edge.splice(first + 1, end - first - 1);
      this.all.splice(first, end - first, bottom);
      this.box.splice(first, end - first, bottom);
    } else this.all.fill(bottom, first, end);
  }

  /** Makes x an edge; the piece to its right. */
  private cut(x: number): number {
    const i = this.pieceAt(x);
    if (this.edge[i] === x) return i;
    this.edge.splice(i + 1, 0, x);
    this.box.splice(i + 1, 0, this.box[i]);
    this.all.splice(i + 1, 0, this.all[i]);
    return i + 1;
  }

  /** The piece that x is in; at an edge, the one to its right. */
  private pieceAt(x: number): number {
    let low = 0,
      high = this.all.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.edge[middle] <= x) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

interface Slants {
  /** Cluster of each piece; -1 for one that runs straight down. */
  of: Int32Array;
  layer: number[];
  left: number[];
  right: number[];
  /** The least height: for a short run less than for a long one. */
  least: number[];
}

const STRAIGHT = 0.1;
const STEEPEST = 1.5;
const LEAST = 12,
  LEAST_SHARE = 0.02;

/** Pieces that run sideways through the same stretch of one gap: they start and end at the same heights, so that they cross no more than they must. */
function clusterSlants(pieces: Pieces, layerCount: number): Slants {
  const slants: Slants = {
    of: new Int32Array(pieces.layer.length).fill(-1),
    layer: [],
    left: [],
    right: [],
    least: [],
  };
  const { from, to } = pieces,
    byLayer = rowsBy(pieces.layer, layerCount);
  const left = (p: number): number => Math.min(from[p], to[p]),
    right = (p: number): number => Math.max(from[p], to[p]);
  for (let l = 0; l < layerCount; l++) {
    const slanted = [...row(byLayer, l)].filter((p) => right(p) - left(p) > STRAIGHT);
    slanted.sort((p, q) => left(p) - left(q) || p - q);
    let reach = -Infinity,
      c = -1;
    for (const p of slanted) {
      const run = right(p) - left(p),
        least = Math.min(LEAST + LEAST_SHARE * run, STEEPEST * run);
      if (left(p) > reach) {
        c = slants.layer.push(l) - 1;
        slants.left.push(left(p));
        slants.right.push(right(p));
        slants.least.push(least);
      }
      reach = Math.max(reach, right(p));
      slants.right[c] = reach;
      slants.least[c] = Math.max(slants.least[c], least);
      slants.of[p] = c;
    }
  }
  return slants;
}
