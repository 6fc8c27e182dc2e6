/**
 * Layers: every wire goes at least one layer down. Longest path first, then boxes slide inside their slack to
 * where their wires are shorter - constants and parameters, and whole trees of them, down to their consumer -
 * and, on levels small enough, network simplex makes the total length the least possible.
 * Entry stubs stay in the first layer and exit stubs in the last, because the group's border is there.
 */

import { type Rows, row, rowsBy, topological } from "../graph/csr.ts";
import { BOX, ENTRY, EXIT } from "./hierarchy.ts";
import { type LevelGraph } from "./level.ts";
import { ArcList, NetworkSimplex } from "./simplex.ts";

export interface Layering {
  layer: Int32Array;
  count: number;
}

interface Plan {
  graph: LevelGraph;
  /** Items, sources first, and the wires out of and into each. */
  order: Uint32Array;
  out: Rows;
  into: Rows;
  layer: Int32Array;
}

const SWEEPS = 4;
/** Boxes and wires of a level that the simplex is still quick for, and the work it may do. */
const SIMPLEX_LIMIT = 8000;
const SIMPLEX_BUDGET = 8_000_000;

export function assignLayers(graph: LevelGraph): Layering {
  const n = graph.kind.length;
  const out = rowsBy(graph.source, n),
    into = rowsBy(graph.target, n);
  const order = topological(graph.source, graph.target, n, undefined, out);
  const layer = new Int32Array(n);
  const hasEntry = graph.kind.includes(ENTRY),
    hasExit = graph.kind.includes(EXIT);
  const top = hasEntry ? 1 : 0;
  let bottom = top;
  for (const v of order) {
    if (graph.kind[v] === ENTRY) continue;
    let l = top;
    for (let k = into.offset[v]; k < into.offset[v + 1]; k++) l = Math.max(l, layer[graph.source[into.items[k]]] + 1);
    layer[v] = l;
    if (graph.kind[v] !== EXIT) bottom = Math.max(bottom, l);
  }
  const last = hasExit ? bottom + 1 : bottom;
  for (let i = 0; i < n; i++) if (graph.kind[i] === EXIT) layer[i] = last;

  const plan = { graph, order, out, into, layer };
  sinkFeeders(plan);
  for (let sweep = 0; sweep < SWEEPS; sweep++) if (!shorten(plan, top, bottom)) break;
  if (n === 0 || n + graph.source.length > SIMPLEX_LIMIT) return { layer, count: last + 1 };
  return shortest(plan, hasEntry, hasExit);
}

/** All entry stubs are one node of the solver, and all exit stubs another, so that borders stay level. */
function shortest({ graph, out, into, layer }: Plan, hasEntry: boolean, hasExit: boolean): Layering {
  const n = graph.kind.length,
    top = n,
    bottom = n + 1;
  const of = (i: number): number => (graph.kind[i] === ENTRY ? top : graph.kind[i] === EXIT ? bottom : i);
  const arcs = new ArcList();
  for (let w = 0; w < graph.source.length; w++) arcs.add(of(graph.source[w]), of(graph.target[w]), 1, 1);
  const position = new Float64Array(n + 2);
  let last = 0;
  for (let i = 0; i < n; i++) {
    position[i] = layer[i];
    last = Math.max(last, layer[i]);
    if (of(i) !== i) arcs.add(top, i, 0, 0);
    else {
      if (into.offset[i] === into.offset[i + 1]) arcs.add(top, i, hasEntry ? 1 : 0, 0);
      if (out.offset[i] === out.offset[i + 1]) arcs.add(i, bottom, hasExit ? 1 : 0, 0);
    }
  }
  arcs.add(top, bottom, 0, 0);
  position[bottom] = last;
  new NetworkSimplex(arcs, position).solve(SIMPLEX_BUDGET);

  let first = Infinity;
  last = -Infinity;
  for (let i = 0; i < n; i++) first = Math.min(first, position[of(i)]);
  for (let i = 0; i < n; i++) {
    layer[i] = Math.round(position[of(i)] - first);
    last = Math.max(last, layer[i]);
  }
  return { layer, count: last + 1 };
}

/** Trees whose leaves are sources and that end in one consumer hang directly above it. */
function sinkFeeders({ graph, order, out, into, layer }: Plan): void {
  const feeder = new Uint8Array(graph.kind.length);
  for (const v of order) {
    const onlyFed = (w: number): boolean =>
      feeder[graph.source[w]] === 1 && hasOneConsumer(graph, out, graph.source[w]);
    if (graph.kind[v] === BOX && out.offset[v] < out.offset[v + 1] && row(into, v).every(onlyFed)) feeder[v] = 1;
  }
  for (let i = order.length - 1; i >= 0; i--) {
    const v = order[i];
    if (feeder[v]) layer[v] = highestConsumer(graph, out, layer, v) - 1;
  }
}

function hasOneConsumer(graph: LevelGraph, out: Rows, v: number): boolean {
  const first = graph.target[out.items[out.offset[v]]];
  return row(out, v).every((w) => graph.target[w] === first);
}

function highestConsumer(graph: LevelGraph, out: Rows, layer: Int32Array, v: number): number {
  let highest = Infinity;
  for (let k = out.offset[v]; k < out.offset[v + 1]; k++)
    highest = Math.min(highest, layer[graph.target[out.items[k]]]);
  return highest;
}

/**
 * One sweep up and one down of local moves, each to the end of the slack with the shorter total trunk length:
 * a net is as long as its longest wire, so moving a box down costs one per producer it is the last to read
 * and gains one per net of its own.
 */
function shorten({ graph, order, out, into, layer }: Plan, top: number, bottom: number): boolean {
  const n = graph.kind.length;
  const reach = new Int32Array(n);
  const measure = (u: number): void => {
    reach[u] = -1;
    for (let k = out.offset[u]; k < out.offset[u + 1]; k++)
      reach[u] = Math.max(reach[u], layer[graph.target[out.items[k]]]);
  };
  for (let u = 0; u < n; u++) measure(u);
  let moved = false;
  const visit = (v: number): void => {
    if (graph.kind[v] !== BOX) return;
    let low = top,
      high = bottom,
      cost = 0;
    const inputs = into.offset[v + 1] - into.offset[v];
    for (let k = into.offset[v]; k < into.offset[v + 1]; k++) {
      const u = graph.source[into.items[k]];
      low = Math.max(low, layer[u] + 1);
      if (reach[u] <= layer[v]) cost++;
    }
    if (out.offset[v] < out.offset[v + 1]) {
      high = highestConsumer(graph, out, layer, v) - 1;
      cost--;
    } else if (inputs > 0) high = low;
    else high = layer[v];
    const want = cost > 0 ? low : cost < 0 ? high : layer[v];
    if (want === layer[v]) return;
    layer[v] = want;
    moved = true;
    for (let k = into.offset[v]; k < into.offset[v + 1]; k++) measure(graph.source[into.items[k]]);
  };
  for (let i = n - 1; i >= 0; i--) visit(order[i]);
  for (let i = 0; i < n; i++) visit(order[i]);
  return moved;
}
