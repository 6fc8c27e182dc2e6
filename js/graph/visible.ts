/**
 * What of a picture is drawn: collapsed groups become one item, constants and weights become badges on their
 * consumers, tuples and tuple gets become a mark on the edge, and a producer that feeds very many consumers
 * becomes a badge at each of them, since fifty long edges from one mask would hide everything else.
 */
import { adjacency, cyclic, type Adjacency } from "./csr.ts";
import { foldable } from "./fold.ts";
import { commonGroup, gaps } from "./gaps.ts";
import { FOLDED, HIDDEN, gather, stub, type Badge } from "./links.ts";
import { GroupKind, Kind } from "./payload.ts";
import { sideOf, type Picture } from "./picture.ts";

export interface ViewOptions {
  collapsed: ReadonlySet<number>;
  showConstants: boolean;
  showTuples: boolean;
  /** A producer with more visible consumers than this is drawn as stubs. */
  fanOutLimit: number;
  /** Nodes to draw; undefined means all. */
  only?: Uint8Array;
}

export const DEFAULT_OPTIONS: ViewOptions = { collapsed: new Set(), showConstants: false, showTuples: false, fanOutLimit: 8 };

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
  const inEdges = adjacency(picture.target, picture.nodeCount);
  const outEdges = adjacency(picture.source, picture.nodeCount);
  const hiding = outermostCollapsed(picture, options.collapsed);
  const node: number[] = [];
  const collapsedGroup: number[] = [];
  const side: number[] = [];
  const itemOf = new Int32Array(picture.nodeCount).fill(HIDDEN);
  const groupItem = new Map<number, number>();
  const folds = options.showConstants ? null : foldable(picture, inEdges, outEdges);

  const gapItem = new Map<number, number>();
  const gapNodes = new Map<number, number[]>();
  const only = options.only;
  const isElided = (u: number) => !options.showTuples && elided(picture, u, outEdges.offset[u + 1] > outEdges.offset[u]);
  const within = only ? holding(picture, hiding, only) : null;
  const isFolded = (u: number) => folds !== null && folds[u] !== 0 && folds[u] === picture.side[u];
  const gapOf = only ? gaps(picture, only, (u) => isFolded(u) || isElided(u)) : null;

  for (let u = 0; u < picture.nodeCount; u++) {
    const box = picture.group[u] >= 0 ? hiding[picture.group[u]] : -1;
    // What is beside a change in the same closed box is in that box, not left out of the picture.
    if (only && gapOf && !only[u] && !(box >= 0 && within![box]) && !isFolded(u) && !isElided(u)) {
      let item = gapItem.get(gapOf[u]);
      if (item === undefined) {
        item = node.length;
        gapItem.set(gapOf[u], item);
        gapNodes.set(item, []);
        node.push(-1);
        collapsedGroup.push(-1);
        side.push(0);
      }
      itemOf[u] = item;
      side[item] |= picture.side[u];
      gapNodes.get(item)!.push(u);
      continue;
    }
    if (isFolded(u)) itemOf[u] = FOLDED;
    else if (isElided(u)) itemOf[u] = FOLDED;
    else if (box >= 0) {
      let item = groupItem.get(box);
      if (item === undefined) {
        item = node.length;
        groupItem.set(box, item);
        node.push(-1);
        collapsedGroup.push(box);
        side.push(0);
      }
      itemOf[u] = item;
      side[item] |= picture.side[u];
    } else {
      itemOf[u] = node.length;
      node.push(u);
      collapsedGroup.push(-1);
      side.push(picture.side[u] & ~(folds?.[u] ?? 0));
    }
  }
  const { open, openParent, parent } = openGroups(picture, node, collapsedGroup, hiding, gapNodes);
  const edges = gather(picture, itemOf, inEdges, node, folds);
  stub(edges, node, options.fanOutLimit);
  settle(picture, itemOf, outEdges);
  const kept = edges.list.filter((e) => !e.dropped);
  const source = Uint32Array.from(kept, (e) => e.source);
  const target = Uint32Array.from(kept, (e) => e.target);
  // Collapsed groups can wait for each other (a scope that is left and entered again), and so can the two sides.
  const weak = cyclic(source, target, node.length, (e) => kept[e].weak || kept[e].side !== 2);
  for (const badge of edges.badges.values()) badge.sort((x, y) => x.port - y.port || x.node - y.node);
  return {
    picture, count: node.length,
    node: Int32Array.from(node), collapsedGroup: Int32Array.from(collapsedGroup),
    gap: Uint32Array.from(node, (_, i) => gapNodes.get(i)?.length ?? 0), side: Uint8Array.from(side),
    parent, open, openParent, badges: edges.badges, itemOf,
    edgeCount: kept.length, source, target,
    port: Uint16Array.from(kept, (e) => e.port), edgeSide: Uint8Array.from(kept, (e) => e.side), weak,
    edgeFold: Uint32Array.from(kept, (e) => e.fold), edgeBytes: Float64Array.from(kept, (e) => e.bytes),
    edgeLabel: kept.map((e) => e.label), edgeType: kept.map((e) => e.type),
  };
}

/** For each group, the outermost collapsed group it is in (itself included), or -1. */
function outermostCollapsed(picture: Picture, collapsed: ReadonlySet<number>): Int32Array {
  const { parent, count } = picture.groups;
  const out = new Int32Array(count).fill(-1);
  for (let g = 0; g < count; g++) for (let h = g; h >= 0; h = parent[h]) if (collapsed.has(h)) out[g] = h;
  return out;
}

/** Which collapsed groups hold a node that is to be drawn. */
function holding(picture: Picture, hiding: Int32Array, only: Uint8Array): Uint8Array {
  const out = new Uint8Array(picture.groups.count);
  for (let u = 0; u < picture.nodeCount; u++) if (only[u] && picture.group[u] >= 0 && hiding[picture.group[u]] >= 0) out[hiding[picture.group[u]]] = 1;
  return out;
}

function elided(picture: Picture, u: number, consumed: boolean): boolean {
  const s = sideOf(picture, u, 1);
  const kind = picture.sides[s].kind[picture.id[s][u]];
  return (kind === Kind.tuple || kind === Kind.getItem) && (consumed || kind === Kind.tuple);
}

/** Open groups that hold something, parents first. A lone function around everything says nothing and is left out. */
function openGroups(picture: Picture, node: number[], collapsedGroup: number[], hiding: Int32Array, gapNodes: Map<number, number[]>) {
  const { parent: above, kind, count } = picture.groups;
  const used = new Uint8Array(count);
  const gapHome = new Map([...gapNodes].map(([item, nodes]) => {
    const g = commonGroup(picture, nodes);
    // What a collapsed group hides is beside it, not in it.
    return [item, g >= 0 && hiding[g] >= 0 ? above[hiding[g]] : g] as const;
  }));
  const home = (i: number) => gapHome.get(i) ?? (node[i] >= 0 ? picture.group[node[i]] : above[collapsedGroup[i]]);
  for (let i = 0; i < node.length; i++) for (let g = home(i); g >= 0 && !used[g]; g = above[g]) used[g] = 1;
  const top: number[] = [];
  for (let g = 0; g < count; g++) if (above[g] < 0) top.push(g);
  if (top.length === 1 && kind[top[0]] === GroupKind.function) used[top[0]] = 0;
  const depths = new Int32Array(count);
  for (let g = 0; g < count; g++) for (let h = above[g]; h >= 0; h = above[h]) depths[g]++;
  const open = Int32Array.from([...used.keys()].filter((g) => used[g])).sort((x, y) => depths[x] - depths[y] || x - y);
  const place = new Int32Array(count).fill(-1);
  open.forEach((g, i) => { place[g] = i; });
  const openParent = open.map((g) => (above[g] >= 0 ? place[above[g]] : -1));
  const parent = Int32Array.from(node, (_, i) => (home(i) >= 0 ? place[home(i)] : -1));
  return { open, openParent, parent };
}

/** A folded node is found on its first consumer that is drawn: search and "show" need to point somewhere. */
function settle(picture: Picture, itemOf: Int32Array, outEdges: Adjacency): void {
  for (let u = itemOf.length - 1; u >= 0; u--) {
    if (itemOf[u] !== FOLDED) continue;
    let at = u;
    let found = HIDDEN;
    for (let steps = 0; steps < 64 && found < 0; steps++) {
      let next = -1;
      for (let i = outEdges.offset[at]; i < outEdges.offset[at + 1] && found < 0; i++) {
        const v = picture.target[outEdges.list[i]];
        if (itemOf[v] >= 0) found = itemOf[v];
        else if (next < 0) next = v;
      }
      if (next < 0) break;
      at = next;
    }
    itemOf[u] = found;
  }
}
