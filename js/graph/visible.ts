/**
 * What of a picture is drawn: collapsed groups become one item, constants and weights become badges on their
 * consumers, tuples and tuple gets become a mark on the edge, and a producer that feeds very many consumers
 * becomes a badge at each of them, since fifty long edges from one mask would hide everything else.
 */
import { GroupKind } from "../model/messages.ts";
import { basisOf } from "./basis.ts";
import { append, cyclic, type Rows, row, topological } from "./csr.ts";
import { type Badge, FOLDED, gather, HIDDEN, stub } from "./links.ts";
import { type Picture } from "./picture.ts";
import { isWithin } from "./picture_groups.ts";

export interface ViewOptions {
  collapsed: ReadonlySet<number>;
  showConstants: boolean;
  showTuples: boolean;
  /** Draw the calls of Relax's runtime around kernels. */
  showLowering?: boolean;
  /** A producer with more visible consumers than this is drawn as stubs. */
  fanOutLimit: number;
  /** Nodes to draw; undefined means all. */
  only?: Uint8Array;
}

export const DEFAULT_OPTIONS: ViewOptions = {
  collapsed: new Set(),
  showConstants: false,
  showTuples: false,
  fanOutLimit: 8,
};

export interface Visible {
  picture: Picture;
  count: number;
  /** The picture's node, or -1 where the item is a collapsed group. */
  node: Int32Array;
  collapsedGroup: Int32Array;
  /** Nodes that an item stands for because they are not shown ("changed only"); 0 for all other items. */
  gap: Uint32Array;
  side: Uint8Array;
  /** Index into `open`, -1 at the top. */
  parent: Int32Array;
  open: Int32Array;
  openParent: Int32Array;
  badges: Map<number, Badge[]>;
  /** Item on which each node of the picture is found (its own, its group's, its consumer's), -1: nowhere. */
  itemOf: Int32Array;
  edgeCount: number;
  source: Uint32Array;
  target: Uint32Array;
  port: Uint16Array;
  edgeSide: Uint8Array;
  weak: Uint8Array;
  /** How many of the graph's edges this one stands for, the bytes on them, ".0" and the like, and the first's type. */
  edgeFold: Uint32Array;
  edgeBytes: Float64Array;
  edgeLabel: string[];
  edgeType: string[];
}

export function visible(picture: Picture, options: ViewOptions): Visible {
  const { inEdges, outEdges } = picture;
  const { elided, groupOrder, runtime, ...basis } = basisOf(picture);
  const hiding = outermostCollapsed(picture, groupOrder, options.collapsed);
  const node: number[] = [];
  const collapsedGroup: number[] = [];
  const side: number[] = [];
  const itemOf = new Int32Array(picture.nodeCount).fill(HIDDEN);
  const folds = options.showConstants ? null : basis.folds;
  const gapNodes = new Map<number, number[]>();
  const { only } = options;
  const isElided = (u: number) => !options.showTuples && elided[u] === 1;
  const within = only ? holding(picture, hiding, only) : null;
  const isFolded = (u: number) => folds !== null && folds[u] !== 0 && folds[u] === picture.side[u];
  const gapOf = only ? gaps(picture, only, (u) => isFolded(u) || isElided(u)) : null;

  const add = (u: number, group: number): number => {
    collapsedGroup.push(group);
    side.push(0);
    return node.push(u) - 1;
  };
  /** The items of gaps and of collapsed groups, which hold several nodes. */
  const itemOfGap = new Map<number, number>();
  const itemOfGroup = new Map<number, number>();
  const put = (u: number, items: Map<number, number>, key: number, group: number): void => {
    let item = items.get(key);
    if (item === undefined) {
      item = add(-1, group);
      items.set(key, item);
    }
    itemOf[u] = item;
    side[item] |= picture.side[u];
  };
  for (let u = 0; u < picture.nodeCount; u++) {
    if (runtime[u] && !options.showLowering) continue;
    const box = picture.group[u] >= 0 ? hiding[picture.group[u]] : -1;
    if (isFolded(u) || isElided(u)) itemOf[u] = FOLDED;
    // What is beside a change in the same closed box is in that box, not left out of the picture.
    else if (gapOf && !only![u] && !(box >= 0 && within![box])) {
      put(u, itemOfGap, gapOf[u], -1);
      append(gapNodes, itemOf[u], u);
    } else if (box >= 0) put(u, itemOfGroup, box, box);
    else {
      itemOf[u] = add(u, -1);
      side[itemOf[u]] = picture.side[u] & ~(folds?.[u] ?? 0);
    }
  }
  const { open, openParent, parent } = openGroups(picture, groupOrder, node, collapsedGroup, hiding, gapNodes);
  const links = gather(picture, itemOf, inEdges, node, folds);
  stub(links, node, options.fanOutLimit);
  settle(picture, itemOf, outEdges);
  const edges = links.columns();
  // Collapsed groups can wait for each other (a scope that is left and entered again), and so can the two sides.
  const weak = cyclic(edges.source, edges.target, node.length, (e) => edges.weak[e] === 1 || edges.edgeSide[e] !== 2);
  for (const badge of links.badges.values())
    if (badge.length > 1) badge.sort((x, y) => x.port - y.port || x.node - y.node);
  const gap = new Uint32Array(node.length);
  for (const [item, nodes] of gapNodes) gap[item] = nodes.length;
  return {
    picture,
    count: node.length,
    node: new Int32Array(node),
    collapsedGroup: new Int32Array(collapsedGroup),
    gap,
    side: new Uint8Array(side),
    parent,
    open,
    openParent,
    badges: links.badges,
    itemOf,
    ...edges,
    weak,
  };
}

/** For each group, the outermost collapsed group it is in (itself included), or -1. */
export function outermostCollapsed(picture: Picture, order: Int32Array, collapsed: ReadonlySet<number>): Int32Array {
  const { parent, count } = picture.groups;
  const out = new Int32Array(count).fill(-1);
  for (const g of order) {
    const above = parent[g] >= 0 ? out[parent[g]] : -1;
    out[g] = above < 0 && collapsed.has(g) ? g : above;
  }
  return out;
}

/** Which collapsed groups hold a node that is to be drawn. */
function holding(picture: Picture, hiding: Int32Array, only: Uint8Array): Uint8Array {
  const out = new Uint8Array(picture.groups.count);
  for (let u = 0; u < picture.nodeCount; u++)
    if (only[u] && picture.group[u] >= 0 && hiding[picture.group[u]] >= 0) out[hiding[picture.group[u]]] = 1;
  return out;
}

/** Open groups that hold something, parents first. A lone function around everything says nothing and is left out. */
function openGroups(
  picture: Picture,
  order: Int32Array,
  node: number[],
  collapsedGroup: number[],
  hiding: Int32Array,
  gapNodes: Map<number, number[]>,
) {
  const { parent: above, kind, count } = picture.groups;
  const home = new Int32Array(node.length);
  for (let i = 0; i < node.length; i++)
    home[i] = node[i] >= 0 ? picture.group[node[i]] : collapsedGroup[i] >= 0 ? above[collapsedGroup[i]] : -1;
  for (const [item, nodes] of gapNodes) {
    const g = commonGroup(picture, nodes);
    // What a collapsed group hides is beside it, not in it.
    home[item] = g >= 0 && hiding[g] >= 0 ? above[hiding[g]] : g;
  }
  const used = new Uint8Array(count);
  for (let i = 0; i < home.length; i++) for (let g = home[i]; g >= 0 && !used[g]; g = above[g]) used[g] = 1;
  const top = order.filter((g) => above[g] < 0);
  if (top.length === 1 && kind[top[0]] === GroupKind.function) used[top[0]] = 0;
  const open = order.filter((g) => used[g] === 1);
  const place = new Int32Array(count).fill(-1);
  for (let i = 0; i < open.length; i++) place[open[i]] = i;
  const openParent = open.map((g) => (above[g] >= 0 ? place[above[g]] : -1));
  const parent = home.map((g) => (g >= 0 ? place[g] : -1));
  return { open, openParent, parent };
}

/** A folded node is found on its first consumer that is drawn: search and "show" need to point somewhere. */
function settle(picture: Picture, itemOf: Int32Array, outEdges: Rows): void {
  for (let u = itemOf.length - 1; u >= 0; u--) {
    if (itemOf[u] !== FOLDED) continue;
    let at = u;
    let found = HIDDEN;
    for (let steps = 0, next = u; steps < 64 && found < 0 && next >= 0; steps++, at = next) {
      next = -1;
      for (let k = outEdges.offset[at]; k < outEdges.offset[at + 1] && found < 0; k++) {
        const v = picture.target[outEdges.items[k]];
        if (itemOf[v] >= 0) found = itemOf[v];
        else if (next < 0) next = v;
      }
    }
    itemOf[u] = found;
  }
}

/**
 * For each node the gap it is in (the number of one of its nodes), or -1 for shown and left-out nodes. In "changed
 * only", runs of nodes that are not shown become one item, "··· 23 unchanged", so that one still sees what feeds what. Two
 * hidden nodes are in one gap only if no shown node lies between them on any path: gaps never make the flow a circle.
 */
function gaps(picture: Picture, only: Uint8Array, leftOut: (u: number) => boolean): Int32Array {
  const depth = shownAbove(picture, only);
  const hidden = (u: number) => !only[u] && !leftOut(u);
  const root = new Int32Array(picture.nodeCount).fill(-1);
  for (let u = 0; u < picture.nodeCount; u++) if (hidden(u)) root[u] = u;
  for (let e = 0; e < picture.edgeCount; e++) {
    const [u, v] = [picture.source[e], picture.target[e]];
    if (root[u] < 0 || root[v] < 0 || depth[u] !== depth[v] || picture.weak[e]) continue;
    const [a, b] = [find(root, u), find(root, v)];
    root[Math.max(a, b)] = Math.min(a, b);
  }
  for (let u = 0; u < picture.nodeCount; u++) if (root[u] >= 0) root[u] = find(root, u);
  return root;
}

/** The most shown nodes on any path to a node. */
function shownAbove(picture: Picture, only: Uint8Array): Uint32Array {
  const depth = new Uint32Array(picture.nodeCount);
  const { source, target, nodeCount, weak, outEdges } = picture;
  for (const u of topological(source, target, nodeCount, weak, outEdges))
    for (const e of row(outEdges, u)) {
      const v = picture.target[e];
      if (!picture.weak[e]) depth[v] = Math.max(depth[v], depth[u] + only[u]);
    }
  return depth;
}

function find(root: Int32Array, u: number): number {
  let top = u;
  while (root[top] !== top) top = root[top];
  for (let at = u; root[at] !== top; ) [at, root[at]] = [root[at], top];
  return top;
}

/** The innermost group around all of some nodes, -1 for none. */
function commonGroup(picture: Picture, nodes: readonly number[]): number {
  const { parent } = picture.groups;
  for (let g = picture.group[nodes[0]] ?? -1; g >= 0; g = parent[g])
    if (nodes.every((u) => isWithin(parent, picture.group[u], g))) return g;
  return -1;
}
