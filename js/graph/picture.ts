/**
 * Two graphs as one picture: a node that a pass kept or changed is one node of the picture, present on both sides.
 * One picture means one layout, so what a pass did not touch is at the same place in both panes by construction;
 * each pane, and the overlay, draws its own subset. A single graph is a picture whose second side is empty.
 */

import { type DiffPayload, MARKS, type Mark as MarkName, type Sides, type Traits } from "../model/messages.ts";
import { append, cyclic, type Rows, row, rowsBy, topological } from "./csr.ts";
import { column, decode, EMPTY, type Graph, text } from "./payload.ts";
import { foldLayers, isWithin, mergeGroups, type PictureGroups } from "./picture_groups.ts";

export { MARKS, type MarkName };

/** Bits of a `side` column. */
const BEFORE = 1;
const AFTER = 2;
export const BOTH = 3;

export interface Diff {
  before_mark: Uint8Array;
  after_mark: Uint8Array;
  pairs: Uint32Array;
  lowers?: boolean;
}

export interface Picture {
  sides: readonly [Graph, Graph];
  compares: boolean;
  /** Whether operators became calls of functions; they have no mark for it. */
  lowers: boolean;
  nodeCount: number;
  /** Which sides a node is on, and its id there (-1: not there). */
  side: Uint8Array;
  id: readonly [Int32Array, Int32Array];
  /** The picture's node for each side's node. */
  node: readonly [Int32Array, Int32Array];
  mark: readonly [Uint8Array, Uint8Array];
  /** The other ends of merges and splits, which are nodes of their own here. */
  partners: Map<number, number[]>;
  edgeCount: number;
  source: Uint32Array;
  target: Uint32Array;
  index: Uint16Array;
  edgeSide: Uint8Array;
  /** Type string per edge, as text: the two sides have two string tables. */
  edgeType: string[];
  /** Edges that would close a cycle between the two sides: drawn, but no concern of the layout. */
  weak: Uint8Array;
  /** Edges by target, and by source. */
  inEdges: Rows;
  outEdges: Rows;
  groups: PictureGroups;
  group: Int32Array;
  /** Bits of the sides on which the node is what the function returns. */
  output: Uint8Array;
}

const NO_DIFF: Diff = { before_mark: new Uint8Array(0), after_mark: new Uint8Array(0), pairs: new Uint32Array(0) };

export function single(graph: Graph): Picture {
  return build([graph, EMPTY], NO_DIFF, false);
}

export function compare(before: Graph, after: Graph, diff: Diff): Picture {
  return build([before, after], diff, true);
}

/** The picture of a widget's traits: of one graph, or of two. */
export function readPicture({ graph, before, after, diff, show_lowering }: Traits): Picture {
  return graph ? single(decode(graph)) : compare(decode(before), decode(after), readDiff(diff, show_lowering));
}

/** The difference of two graphs as Python sends it, with lowering (workbench/graph/changes.py) as a change or as none. */
export function readDiff(raw: DiffPayload | undefined, lowering = false): Diff {
  const pairs = column(Uint32Array, raw?.pairs);
  let lowers = false;
  const [before_mark, after_mark] = [raw?.before_mark, raw?.after_mark].map((marks, s) => {
    const given = column(Uint8Array, marks);
    lowers = given.some((mark) => mark >= MARKS.length);
    if (!lowers) return given;
    const paired = new Set(lowering ? pairs.filter((_, i) => i % 2 === s) : []);
    const shown = (v: number) => (!lowering ? "kept" : paired.has(v) ? "changed" : s === 0 ? "removed" : "added");
    return given.map((mark, v) => (mark < MARKS.length ? mark : MARKS.indexOf(shown(v))));
  });
  return { before_mark, after_mark, pairs, lowers };
}

function build(sides: [Graph, Graph], diff: Diff, compares: boolean): Picture {
  const [a, b] = sides;
  const partners = new Map<number, number[]>();
  const wanted = onePartnerEach(diff.pairs, a.nodeCount, b.nodeCount);
  // Boxes that cross each other can't be drawn in one layout: their nodes part, and stay linked as partners.
  let merged = mergeGroups(sides, wanted);
  for (let round = 0; merged.conflict && round < 4; round++) {
    for (const v of merged.conflict) wanted[v] = -1;
    merged = mergeGroups(sides, wanted);
  }

  const node: [Int32Array, Int32Array] = [new Int32Array(a.nodeCount), new Int32Array(b.nodeCount).fill(-1)];
  let count = a.nodeCount;
  for (let v = 0; v < a.nodeCount; v++) {
    node[0][v] = v;
    if (wanted[v] >= 0) node[1][wanted[v]] = v;
  }
  for (let v = 0; v < b.nodeCount; v++) if (node[1][v] < 0) node[1][v] = count++;

  const id: [Int32Array, Int32Array] = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)];
  const side = new Uint8Array(count);
  const mark: [Uint8Array, Uint8Array] = [new Uint8Array(count), new Uint8Array(count)];
  const output = new Uint8Array(count);
  for (const s of [0, 1] as const) {
    const marks = s === 0 ? diff.before_mark : diff.after_mark;
    node[s].forEach((u, v) => {
      id[s][u] = v;
      side[u] |= 1 << s;
      mark[s][u] = marks[v] ?? 0;
    });
    for (const v of sides[s].output) output[node[s][v]] |= 1 << s;
  }
  for (let i = 0; i + 1 < diff.pairs.length; i += 2) {
    const u = node[0][diff.pairs[i]];
    const w = node[1][diff.pairs[i + 1]];
    if (u === undefined || w === undefined || u === w) continue;
    append(partners, u, w);
    append(partners, w, u);
  }
  const edges = mergeEdges(sides, node, count);
  const group = new Int32Array(count);
  for (let u = 0; u < count; u++) {
    group[u] = id[0][u] >= 0 ? merged.nodeGroup[0][id[0][u]] : merged.nodeGroup[1][id[1][u]];
  }
  const groups = foldLayers(merged.groups);
  if (compares) adopt({ nodeCount: count, side, ...edges, partners, groups, group });
  const lowers = diff.lowers === true;
  return { sides, compares, lowers, nodeCount: count, side, id, node, mark, partners, ...edges, groups, group, output };
}

/** For each node before, the one node after that shares its place; the first pair wins, the rest are partners. */
function onePartnerEach(pairs: Uint32Array, before: number, after: number): Int32Array {
  const wanted = new Int32Array(before).fill(-1);
  const taken = new Uint8Array(after);
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const v = pairs[i];
    const w = pairs[i + 1];
    if (v >= before || w >= after || wanted[v] >= 0 || taken[w]) continue;
    wanted[v] = w;
    taken[w] = 1;
  }
  return wanted;
}

function mergeEdges(sides: readonly [Graph, Graph], node: readonly [Int32Array, Int32Array], count: number) {
  const most = sides[0].edgeCount + sides[1].edgeCount;
  const source = new Uint32Array(most);
  const target = new Uint32Array(most);
  const index = new Uint16Array(most);
  const edgeSide = new Uint8Array(most);
  const edgeType: string[] = [];
  const shared = sharedEdges(sides, node, count);
  let m = 0;
  for (const s of [0, 1] as const) {
    const graph = sides[s];
    for (let e = 0; e < graph.edgeCount; e++) {
      if (s === 1 && shared[e] >= 0) {
        edgeSide[shared[e]] |= AFTER;
        continue;
      }
      source[m] = node[s][graph.source[e]];
      target[m] = node[s][graph.target[e]];
      index[m] = graph.index[e];
      edgeSide[m] = 1 << s;
      edgeType.push(text(graph, graph.edgeType[e]));
      m++;
    }
  }
  const cut = {
    source: source.slice(0, m),
    target: target.slice(0, m),
    index: index.slice(0, m),
    edgeSide: edgeSide.slice(0, m),
  };
  const [inEdges, outEdges] = [rowsBy(cut.target, count), rowsBy(cut.source, count)];
  const weak = cyclic(cut.source, cut.target, count, (e) => cut.edgeSide[e] === BEFORE, outEdges);
  return { edgeCount: m, ...cut, edgeType, weak, inEdges, outEdges };
}

/** For each edge after, the edge before between the same nodes at the same argument, or -1. A node before has its own number here. */
function sharedEdges([a, b]: readonly [Graph, Graph], node: readonly [Int32Array, Int32Array], count: number) {
  const out = new Int32Array(b.edgeCount).fill(-1);
  const before = rowsBy(a.target, count);
  /** The edge before into the node at hand, by argument; `into` is that node. */
  const [edges, into] = [new Uint32Array(0x10000), new Int32Array(0x10000).fill(-1)];
  let at = -1;
  for (let f = 0; f < b.edgeCount; f++) {
    const v = node[1][b.target[f]];
    // Edges into a node follow each other as a rule.
    if (v !== at)
      for (const e of row(before, v)) {
        edges[a.index[e]] = e;
        into[a.index[e]] = v;
      }
    at = v;
    const e = edges[b.index[f]];
    if (into[b.index[f]] === v && a.source[e] === node[1][b.source[f]]) out[f] = e;
  }
  return out;
}

/**
 * The groups a node is in, innermost first, as its own side has them: a removed node may be laid out inside a kernel
 * that only the other side has, but it never was in it.
 */
export function groupsOf(picture: Picture, node: number): number[] {
  const list: number[] = [];
  for (let g = picture.group[node]; g >= 0; g = picture.groups.parent[g])
    if (picture.groups.side[g] & picture.side[node]) list.push(g);
  return list;
}

/** The side whose text a pane shows: its own where the node is there, else the other (in the overlay). */
export function sideOf(picture: Picture, node: number, preferred: 0 | 1): 0 | 1 {
  return picture.id[preferred][node] >= 0 ? preferred : preferred === 0 ? 1 : 0;
}

/** A node in the graph of a side that has it, as `sideOf` chooses it. */
export function placeOf(picture: Picture, node: number, preferred: 0 | 1): { graph: Graph; id: number } {
  const s = sideOf(picture, node, preferred);
  return { graph: picture.sides[s], id: picture.id[s][node] };
}

export function kindOf(picture: Picture, node: number): number {
  const s = sideOf(picture, node, 1);
  return picture.sides[s].kind[picture.id[s][node]];
}

/** The nodes of a picture by the numbers that Python has for them. */
export function toSides(picture: Picture, nodes: readonly number[]): Sides {
  const take = (s: 0 | 1) => nodes.map((u) => picture.id[s][u]).filter((v) => v >= 0);
  return { before: take(0), after: take(1) };
}

/** The nodes of a picture that Python names: by side, or of a lone graph. */
export function fromSides(picture: Picture, ids: readonly number[] | Sides = {}): number[] {
  const { before = [], after = [] }: Sides = "length" in ids ? { before: [...ids] } : ids;
  const nodes = ([before, after] as const).flatMap((side, s) => side.map((v) => picture.node[s as 0 | 1][v] ?? -1));
  return [...new Set(nodes.filter((u) => u >= 0))];
}

/** A node between very many kernels fits in none of them; looking at a few is enough to know. */
const MOST = 6;

type Adoptable = Omit<Picture, "sides" | "compares" | "lowers" | "id" | "node" | "mark" | "output">;

/**
 * Puts a node that only one side has among the other side's boxes, by changing `group`. A batch norm that was folded away
 * sat between a convolution and its relu, which are now one kernel: outside that kernel's box it would have to be drawn
 * after both. So it is laid out inside; its own pane does not draw that box, and nothing false is shown.
 */
function adopt(picture: Adoptable): void {
  const { nodeCount, side, source, target, weak, partners, group, groups, inEdges, outEdges } = picture;
  if (groups.count === 0) return;
  const foreign = (g: number, u: number) => g >= 0 && (groups.side[g] & side[u]) === 0;
  // Producers first; what weak edges close into a cycle is not reached.
  const order = topological(source, target, nodeCount, weak, outEdges).filter((u) => side[u] !== BOTH);
  const before = groupsReached(picture, order, inEdges, source);
  const after = groupsReached(picture, order.slice().reverse(), outEdges, target);
  for (const u of order) {
    const shared = before[u]?.find((g) => after[u]?.includes(g) && foreign(g, u));
    const partner = partners
      .get(u)
      ?.map((w) => group[w])
      .find((g) => foreign(g, u));
    const home = shared ?? partner;
    // Only deeper into where it already is: a box must stay inside its own parents.
    if (home !== undefined && (group[u] < 0 || isWithin(groups.parent, home, group[u]))) group[u] = home;
  }
}

/** For each node of one side, the groups from which it is reached (through other such nodes) along one direction. */
function groupsReached({ side, group }: Adoptable, order: Uint32Array, edges: Rows, far: Uint32Array) {
  const found: (number[] | undefined)[] = new Array<number[] | undefined>(side.length);
  for (const u of order) {
    const list: number[] = [];
    for (const e of row(edges, u)) {
      if (list.length >= MOST) break;
      const v = far[e];
      for (const g of side[v] === BOTH ? [group[v]] : (found[v] ?? [])) if (g >= 0 && !list.includes(g)) list.push(g);
    }
    found[u] = list;
  }
  return found;
}
