/**
 * Chains of vertices that share one x: a trunk's bends, and every box with its main input straight above it.
 * The vertical alignment of U. Brandes and B. Koepf, "Fast and Simple Horizontal Coordinate Assignment" (GD 2001),
 * with the choice of neighbour made by role instead of in four directions: data before constants, the middle one
 * of an odd number, none of an even number (so that two branches hang symmetrically). Links never cross, trunks first.
 */
import { ENTRY, EXIT } from "./hierarchy";
import type { LevelGraph, Rows } from "./level";
import type { Order } from "./order";
import type { Strata } from "./strata";

export interface Blocks {
  count: number;
  /** Block of each vertex, and the vertex's x relative to the block's. */
  of: Int32Array;
  shift: Float64Array;
  /** Vertices of block b, top to bottom: members.items[members.offset[b]] .. */
  members: Rows;
}

/** What flows along a segment, in rising order of claim to a straight line. */
const PARAMETER = 0, INPUT = 1, SKIP = 2, DATA = 3;

export function segmentRoles(graph: LevelGraph, strata: Strata): Uint8Array {
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
  return role;
}

export function alignBlocks(graph: LevelGraph, strata: Strata, order: Order, role: Uint8Array): Blocks {
  const { count, itemCount, source, target, sourceShift, targetShift } = strata;
  const main = new Int32Array(count).fill(-1);
  for (let v = 0; v < count; v++) main[v] = mainAbove(strata, order, role, v);
  const isBend = (s: number): boolean => source[s] >= itemCount && target[s] >= itemCount;
  const linkUp = new Int32Array(count).fill(-1), linkDown = new Int32Array(count).fill(-1);
  const passes: number[][][] = [];
  for (let l = 0; l + 1 < strata.layerCount; l++) passes.push([[], [], []]);
  for (let u = 0; u < count; u++) {
    const s = mainBelow(graph, strata, order, main, u);
    if (s >= 0) passes[strata.layer[u]][isBend(s) ? 0 : role[s] === DATA ? 1 : 2].push(s);
  }
  for (let l = 0; l + 1 < strata.layerCount; l++) linkLayer(strata, order, l, passes[l], linkUp, linkDown);

  const of = new Int32Array(count).fill(-1), shift = new Float64Array(count);
  const offset: number[] = [0], items = new Uint32Array(count);
  let filled = 0;
  for (const top of order.vertex) {
    if (linkUp[top] >= 0) continue;
    const block = offset.length - 1;
    for (let v = top, s = -1; ; v = target[s]) {
      if (s >= 0) shift[v] = shift[source[s]] + sourceShift[s] - targetShift[s];
      of[v] = block;
      items[filled++] = v;
      s = linkDown[v];
      if (s < 0) break;
    }
    offset.push(filled);
  }
  return { count: offset.length - 1, of, shift, members: { offset: Uint32Array.from(offset), items } };
}

/** The segment from above that deserves to be straight: the middle one of the most important role. */
function mainAbove(strata: Strata, order: Order, role: Uint8Array, v: number): number {
  const { up, source } = strata;
  let best = -1;
  const candidates: number[] = [];
  for (let k = up.offset[v]; k < up.offset[v + 1]; k++) {
    const s = up.items[k];
    if (role[s] < best) continue;
    if (role[s] > best) { best = role[s]; candidates.length = 0; }
    candidates.push(s);
  }
  if (candidates.length === 0) return -1;
  if (best <= INPUT) return candidates[0];
  return middle(candidates, (s) => order.position[source[s]]);
}

/** The segment below whose end agrees that this one is its main input. */
function mainBelow(graph: LevelGraph, strata: Strata, order: Order, main: Int32Array, u: number): number {
  const { down, target, itemCount } = strata;
  let best = -1;
  const candidates: number[] = [];
  for (let k = down.offset[u]; k < down.offset[u + 1]; k++) {
    const s = down.items[k], v = target[s];
    if (main[v] !== s) continue;
    if (u >= itemCount && v >= itemCount) return s;
    const rank = v >= itemCount ? 0 : graph.kind[v] === EXIT ? 1 : 2;
    if (rank < best) continue;
    if (rank > best) { best = rank; candidates.length = 0; }
    candidates.push(s);
  }
  return candidates.length === 0 ? -1 : middle(candidates, (s) => order.position[target[s]]);
}

function middle(candidates: number[], position: (s: number) => number): number {
  if (candidates.length % 2 === 0) return -1;
  if (candidates.length > 1) candidates.sort((a, b) => position(a) - position(b));
  return candidates[candidates.length >> 1];
}

/** Accepts links pass by pass, left to right, each only if it crosses none accepted before. */
function linkLayer(
  strata: Strata, order: Order, l: number, passes: number[][], linkUp: Int32Array, linkDown: Int32Array,
): void {
  const { source, target } = strata;
  const { start, vertex, position } = order;
  const width = start[l + 1] - start[l];
  let linked = 0;
  const rightmost = new Int32Array(width + 1), leftmost = new Int32Array(width + 1);
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
      const u = source[s], v = target[s], i = position[u], j = position[v];
      if (linkDown[u] >= 0 || linkUp[v] >= 0) continue;
      if (j <= reached || j <= rightmost[i] || j >= leftmost[i + 1]) continue;
      linkDown[u] = s;
      linkUp[v] = s;
      reached = j;
      linked++;
    }
  }
}
