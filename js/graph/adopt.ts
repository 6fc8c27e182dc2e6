/**
 * Where a node that only one side has is placed among the other side's boxes. A batch norm that was folded away sat
 * between a convolution and its relu, which are now one kernel: outside that kernel's box it would have to be drawn
 * after both. So it is laid out inside; its own pane does not draw that box, and nothing false is shown.
 */
import { type Adjacency, adjacency } from "./csr.ts";
import { type PictureGroups } from "./picture_groups.ts";

/** A node between very many kernels fits in none of them; looking at a few is enough to know. */
const MOST = 6;

interface Adoptable {
  nodeCount: number;
  side: Uint8Array;
  source: Uint32Array;
  target: Uint32Array;
  weak: Uint8Array;
  partners: Map<number, number[]>;
  groups: PictureGroups;
  group: Int32Array;
}

/** Changes `group` in place. */
export function adopt(picture: Adoptable): void {
  const { side, group, groups } = picture;
  if (groups.count === 0) return;
  const lone = (u: number) => side[u] !== 3;
  const foreign = (g: number, u: number) => g >= 0 && (groups.side[g] & side[u]) === 0;
  const into = adjacency(picture.target, picture.nodeCount);
  const out = adjacency(picture.source, picture.nodeCount);
  const order = topological(picture, out);
  const before = reach(picture, order, into, picture.source, lone);
  const after = reach(picture, order.slice().reverse(), out, picture.target, lone);
  for (const u of order) {
    if (!lone(u)) continue;
    const shared = before[u]?.find((g) => after[u]?.includes(g) && foreign(g, u));
    const partner = picture.partners
      .get(u)
      ?.map((w) => group[w])
      .find((g) => foreign(g, u));
    const home = shared ?? partner;
    // Only deeper into where it already is: a box must stay inside its own parents.
    if (home !== undefined && (group[u] < 0 || isWithin(groups, home, group[u]))) group[u] = home;
  }
}

function isWithin(groups: PictureGroups, inner: number, outer: number): boolean {
  for (let g = inner; g >= 0; g = groups.parent[g]) if (g === outer) return true;
  return false;
}

/** For each lone node, the groups from which it is reached (through other lone nodes) along one direction. */
function reach(
  picture: Adoptable,
  order: number[],
  edges: Adjacency,
  far: Uint32Array,
  lone: (u: number) => boolean,
): (number[] | undefined)[] {
  const found: (number[] | undefined)[] = new Array<number[] | undefined>(picture.nodeCount);
  for (const u of order) {
    if (!lone(u)) continue;
    const list: number[] = [];
    for (let i = edges.offset[u]; i < edges.offset[u + 1] && list.length < MOST; i++) {
      const e = edges.list[i];
      const v = far[e];
      for (const g of lone(v) ? (found[v] ?? []) : [picture.group[v]]) if (g >= 0 && !list.includes(g)) list.push(g);
    }
    found[u] = list;
  }
  return found;
}

/** Producers first; what weak edges close into a cycle comes last. */
function topological(picture: Adoptable, out: Adjacency): number[] {
  const waiting = new Uint32Array(picture.nodeCount);
  for (let e = 0; e < picture.source.length; e++) if (!picture.weak[e]) waiting[picture.target[e]]++;
  const order: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++) if (waiting[u] === 0) order.push(u);
  for (let head = 0; head < order.length; head++) {
    const u = order[head];
    for (let i = out.offset[u]; i < out.offset[u + 1]; i++) {
      const e = out.list[i];
      if (!picture.weak[e] && --waiting[picture.target[e]] === 0) order.push(picture.target[e]);
    }
  }
  return order;
}
