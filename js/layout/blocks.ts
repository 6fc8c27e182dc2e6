/**
 * Chains of vertices that share one x: a trunk's bends, and every box with its main input straight above it.
 * The vertical alignment of U. Brandes and B. Koepf, "Fast and Simple Horizontal Coordinate Assignment" (GD 2001),
 * with the choice of neighbour made by role instead of in four directions: data before constants, the middle one
 * of an odd number, of an even number the one on the longest path, none if they are alike (so that equal branches
 * hang symmetrically). Links never cross, trunks first.
 */
import { type Rows } from "../graph/csr.ts";
import { ENTRY, EXIT } from "./hierarchy.ts";
import { type LevelGraph, type Spacing } from "./level.ts";
import { type Order } from "./order.ts";
import { type Strata } from "./strata.ts";

export interface Blocks {
  count: number;
  /** Block of each vertex, and the vertex's x relative to the block's. */
  of: Int32Array;
  shift: Float64Array;
  /** 1 for the segments that the chains are made of, and those that would be if chains were rigid. */
  straight: Uint8Array;
}

/** A level whose layers are ordered, and what the places of its vertices depend on. */
export interface Ordered {
  graph: LevelGraph;
  strata: Strata;
  order: Order;
  spacing: Spacing;
  /** What flows along each segment. */
  role: Uint8Array;
  /** Pixels of boxes on the longest way from a source to each vertex, and from each vertex to a sink. */
  above: Float64Array;
  below: Float64Array;
}

export function describe(graph: LevelGraph, strata: Strata, order: Order, spacing: Spacing): Ordered {
  return { graph, strata, order, spacing, role: segmentRoles(graph, strata), ...pathLengths(graph, strata, order) };
}

/** What flows along a segment, in rising order of claim to a straight line. */
const PARAMETER = 0,
  INPUT = 1,
  SKIP = 2,
  DATA = 3,
  MAIN = 4;

/** Pixels of boxes by which a way must be longer than another to be the main one: about one small box. */
const CLEARLY_LONGER = 24;
/** What comes in at the main entry has come a longer way than anything made here. */
const ALL_THE_WAY = 1e6;

function segmentRoles(graph: LevelGraph, strata: Strata): Uint8Array {
  const { source, up, itemCount, count, layer } = strata;
  const role = new Uint8Array(source.length);
  const vertexRole = new Uint8Array(count);
  const byLayer = Uint32Array.from({ length: count }, (_, v) => v).sort((a, b) => layer[a] - layer[b] || a - b);
  for (const v of byLayer) {
    const first = up.offset[v];
    if (v < itemCount) vertexRole[v] = graph.kind[v] === ENTRY ? INPUT : first === up.offset[v + 1] ? PARAMETER : DATA;
    else vertexRole[v] = Math.min(SKIP, vertexRole[source[up.items[first]]]);
    for (let k = first; k < up.offset[v + 1]; k++) role[up.items[k]] = vertexRole[source[up.items[k]]];
  }
  for (let w = 0; w < graph.mainWire.length; w++)
    if (graph.mainWire[w] && strata.lastSegment[w] >= 0) role[strata.lastSegment[w]] = MAIN;
  return role;
}

/**
 * With `rigid`, whole chains become blocks: few variables, for levels too large to solve exactly, at the price of
 * width. Without, only boxes that have nothing else to be straight with, and the solver weighs the other links.
 */
export function alignBlocks(ordered: Ordered, rigid: boolean): Blocks {
  const { strata, order, role } = ordered;
  const { count, itemCount, source, target, sourceShift, targetShift } = strata;
  const main = new Int32Array(count).fill(-1);
  for (let v = 0; v < count; v++) main[v] = mainAbove(ordered, v);
  const isBend = (s: number): boolean => source[s] >= itemCount && target[s] >= itemCount;
  const linkUp = new Int32Array(count).fill(-1),
    linkDown = new Int32Array(count).fill(-1);
  const passes: number[][][] = [];
  for (let l = 0; l + 1 < strata.layerCount; l++) passes.push([[], [], [], []]);
  // A trunk belongs to the straight line of its first consumer; what goes on to later ones turns off there.
  const served = new Uint8Array(count);
  for (let u = 0; u < count; u++) {
    const before = u < itemCount ? -1 : source[strata.up.items[strata.up.offset[u]]];
    if (before >= 0) served[u] = served[before];
    const s = mainBelow(ordered, main, u, served[u] === 0 && before >= 0);
    if (s < 0) continue;
    if (target[s] < itemCount) served[u] = 1;
    passes[strata.layer[u]][isBend(s) ? 0 : role[s] === MAIN ? 1 : role[s] === DATA ? 2 : 3].push(s);
  }
  for (let l = 0; l + 1 < strata.layerCount; l++) linkLayer(strata, order, l, passes[l], linkUp, linkDown);

  const of = new Int32Array(count).fill(-1),
    shift = new Float64Array(count);
  const straight = new Uint8Array(source.length);
  let blocks = 0;
  for (const v of order.vertex) {
    const s = linkUp[v];
    if (s >= 0) straight[s] = 1;
    if (s < 0 || !(rigid || isOnlyWay(strata, s))) {
      of[v] = blocks++;
      continue;
    }
    of[v] = of[source[s]];
    shift[v] = shift[source[s]] + sourceShift[s] - targetShift[s];
  }
  return { count: blocks, of, shift, straight };
}

function isOnlyWay({ source, target, down, up, itemCount }: Strata, s: number): boolean {
  const u = source[s],
    v = target[s];
  return (
    u < itemCount && v < itemCount && down.offset[u + 1] - down.offset[u] === 1 && up.offset[v + 1] - up.offset[v] === 1
  );
}

/** The segment from above that deserves to be straight: the middle one of the most important role. */
function mainAbove({ strata, order, role, above }: Ordered, v: number): number {
  const { up, source } = strata;
  const candidates = highest(up, v, (s) => role[s]);
  if (candidates.length === 0) return -1;
  if (role[candidates[0]] <= INPUT) return candidates[0];
  // Where branches meet, the longest one is the main line, whatever hangs beside it.
  const length = (s: number): number => above[source[s]];
  const longest = candidates.reduce((best, s) => Math.max(best, length(s)), 0);
  return middleOrLongest(
    candidates.filter((s) => length(s) >= longest - CLEARLY_LONGER),
    (s) => order.position[source[s]],
    length,
  );
}

/** The segment below whose end agrees that this one is its main input; a bend prefers the next bend unless an option forbids it. */
function mainBelow({ graph, strata, order, below }: Ordered, main: Int32Array, u: number, boxFirst: boolean): number {
  const { down, target, itemCount } = strata;
  const nextBend = u >= itemCount && !boxFirst ? 3 : 0;
  const rank = (v: number): number => (v >= itemCount ? nextBend : graph.kind[v] === EXIT ? 1 : 2);
  const candidates = highest(down, u, (s) => (main[target[s]] === s ? rank(target[s]) : -1));
  return candidates.length === 0
    ? -1
    : middleOrLongest(
        candidates,
        (s) => order.position[target[s]],
        (s) => below[target[s]],
      );
}

/** The segments of the highest rank; those below 0 do not count. */
function highest({ offset, items }: Rows, v: number, rank: (s: number) => number): number[] {
  let best = 0;
  const found: number[] = [];
  for (let k = offset[v]; k < offset[v + 1]; k++) {
    const own = rank(items[k]);
    if (own < best) continue;
    if (own > best) found.length = 0;
    best = own;
    found.push(items[k]);
  }
  return found;
}

function middleOrLongest(candidates: number[], position: (s: number) => number, length: (s: number) => number): number {
  if (candidates.length % 2 === 1) {
    if (candidates.length > 1) candidates.sort((a, b) => position(a) - position(b));
    return candidates[candidates.length >> 1];
  }
  candidates.sort((a, b) => length(b) - length(a));
  return length(candidates[0]) > CLEARLY_LONGER + length(candidates[1]) ? candidates[0] : -1;
}

function pathLengths(graph: LevelGraph, strata: Strata, order: Order): Pick<Ordered, "above" | "below"> {
  const { source, target, up, down, itemCount, count } = strata;
  const above = new Float64Array(count),
    below = new Float64Array(count);
  const own = (v: number): number => (v >= itemCount ? 0 : graph.mainEntry[v] ? ALL_THE_WAY : graph.height[v]);
  for (const v of order.vertex) {
    for (let k = up.offset[v]; k < up.offset[v + 1]; k++) above[v] = Math.max(above[v], above[source[up.items[k]]]);
    above[v] += own(v);
  }
  for (let i = count - 1; i >= 0; i--) {
    const v = order.vertex[i];
    for (let k = down.offset[v]; k < down.offset[v + 1]; k++)
      below[v] = Math.max(below[v], below[target[down.items[k]]]);
    below[v] += own(v);
  }
  return { above, below };
}

/** Accepts links pass by pass, left to right, each only if it crosses none accepted before. */
function linkLayer(
  strata: Strata,
  order: Order,
  l: number,
  passes: number[][],
  linkUp: Int32Array,
  linkDown: Int32Array,
): void {
  const { source, target } = strata;
  const { start, vertex, position } = order;
  const width = start[l + 1] - start[l];
  let linked = 0;
  const rightmost = new Int32Array(width + 1),
    leftmost = new Int32Array(width + 1);
  for (const pass of passes) {
    if (pass.length === 0) continue;
    rightmost[0] = -1;
    leftmost[width] = 0x7fffffff;
    for (let i = 0; i < width; i++) {
      const s = linked > 0 ? linkDown[vertex[start[l] + i]] : -1;
      rightmost[i + 1] = s < 0 ? rightmost[i] : Math.max(rightmost[i], position[target[s]]);
    }
    for (let i = width - 1; i >= 0; i--) {
      const s = linked > 0 ? linkDown[vertex[start[l] + i]] : -1;
      leftmost[i] = s < 0 ? leftmost[i + 1] : Math.min(leftmost[i + 1], position[target[s]]);
    }
    pass.sort((a, b) => position[source[a]] - position[source[b]]);
    let reached = -1;
    for (const s of pass) {
      const u = source[s],
        v = target[s],
        i = position[u],
        j = position[v];
      if (linkDown[u] >= 0 || linkUp[v] >= 0) continue;
      if (j <= reached || j <= rightmost[i] || j >= leftmost[i + 1]) continue;
      linkDown[u] = s;
      linkUp[v] = s;
      reached = j;
      linked++;
    }
  }
}
