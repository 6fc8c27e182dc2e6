/**
 * Where a node that only one side has is placed among the other side's boxes. A batch norm that was folded away sat
 * between a convolution and its relu, which are now one kernel: outside that kernel's box it would have to be drawn
 * after both. So it is laid out inside; its own pane does not draw that box, and nothing false is shown.
 */
import { type Rows, rowsBy, topological } from "./csr.ts";
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
  const into = rowsBy(picture.target, picture.nodeCount);
  const out = rowsBy(picture.source, picture.nodeCount);
  // Producers first; what weak edges close into a cycle is not reached.
  const order = topological(picture.source, picture.target, picture.nodeCount, picture.weak, out);
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
  order: Uint32Array,
  edges: Rows,
  far: Uint32Array,
  lone: (u: number) => boolean,
): (number[] | undefined)[] {
  const found: (number[] | undefined)[] = new Array<number[] | undefined>(picture.nodeCount);
  for (const u of order) {
    if (!lone(u)) continue;
    const list: number[] = [];
    for (let i = edges.offset[u]; i < edges.offset[u + 1] && list.length < MOST; i++) {
      const e = edges.items[i];
      const v = far[e];
      for (const g of lone(v) ? (found[v] ?? []) : [picture.group[v]]) if (g >= 0 && !list.includes(g)) list.push(g);
    }
    found[u] = list;
  }
  return found;
}
