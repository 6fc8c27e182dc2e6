/**
 * The boxes of both sides as one hierarchy. A box before and a box after are one where they are of one kind and
 * hold the same nodes (or bear the same name); a box that only one side has is put in wherever it fits.
 */

import { GroupKind } from "../model/messages.ts";
import { append, rowsBy } from "./csr.ts";
import { type Graph, text } from "./payload.ts";

export interface PictureGroups {
  count: number;
  kind: Uint8Array;
  parent: Int32Array;
  /** Sides that have this box, and its id there (-1: not there). */
  side: Uint8Array;
  id: readonly [Int32Array, Int32Array];
  name: string[];
}

interface MergedGroups {
  groups: PictureGroups;
  /** Innermost picture group per side's node. */
  nodeGroup: readonly [Int32Array, Int32Array];
  /** Nodes of the before side whose box crosses one of the after side's; null where all boxes nest. */
  conflict: number[] | null;
}

/** `wanted[v]` is the node after that shares the place of node v before, or -1. */
export function mergeGroups(sides: readonly [Graph, Graph], wanted: Int32Array): MergedGroups {
  const [a, b] = sides;
  const parent: number[] = Array.from(b.groupParent);
  const kind: number[] = Array.from(b.groupKind);
  const name: string[] = Array.from(b.groupName, (s) => text(b, s));
  const id: [number[], number[]] = [
    new Array<number>(b.groupCount).fill(-1),
    Array.from({ length: b.groupCount }, (_, g) => g),
  ];
  const afterGroup = Int32Array.from(b.group);
  const beforeGroup = new Int32Array(a.nodeCount).fill(-1);
  const matched = match(sides, wanted);

  const mapped = new Int32Array(a.groupCount).fill(-1);
  const conflict: number[] = [];
  let inside: number[][] | null = null;
  let size: number[] = [];
  // Parents first, so that a box's parent already has its place.
  for (const g of outsideIn(a.groupParent)) {
    if (matched[g] >= 0) {
      mapped[g] = matched[g];
      id[0][matched[g]] = g;
      continue;
    }
    if (!inside) [inside, size] = [members(a), sizes(parent, afterGroup)];
    const shared = inside[g].filter((v) => wanted[v] >= 0);
    const held = shared.map((v) => wanted[v]);
    const place = fit(held, parent, afterGroup, size);
    if (place === null) {
      conflict.push(...shared);
      continue;
    }
    const fresh = parent.length;
    const above = a.groupParent[g] >= 0 ? mapped[a.groupParent[g]] : -1;
    parent.push(held.length === 0 ? above : place.parent);
    kind.push(a.groupKind[g]);
    name.push(text(a, a.groupName[g]));
    id[0].push(g);
    id[1].push(-1);
    mapped[g] = fresh;
    size.push(held.length);
    for (const child of place.groups) parent[child] = fresh;
    for (const v of place.nodes) afterGroup[v] = fresh;
  }
  if (conflict.length === 0) conflict.push(...misplaced(a, wanted, mapped, parent, id[0], afterGroup));
  if (conflict.length > 0)
    return { groups: pack(parent, kind, name, id), nodeGroup: [beforeGroup, afterGroup], conflict };
  for (let v = 0; v < a.nodeCount; v++) {
    beforeGroup[v] = wanted[v] >= 0 ? afterGroup[wanted[v]] : a.group[v] >= 0 ? mapped[a.group[v]] : -1;
  }
  return { groups: pack(parent, kind, name, id), nodeGroup: [beforeGroup, afterGroup], conflict: null };
}

function pack(parent: number[], kind: number[], name: string[], id: readonly [number[], number[]]): PictureGroups {
  const side = Uint8Array.from(parent, (_, g) => (id[0][g] >= 0 ? 1 : 0) | (id[1][g] >= 0 ? 2 : 0));
  return {
    count: parent.length,
    kind: Uint8Array.from(kind),
    parent: Int32Array.from(parent),
    side,
    name,
    id: [Int32Array.from(id[0]), Int32Array.from(id[1])],
  };
}

interface Place {
  parent: number;
  groups: number[];
  nodes: number[];
}

/** Where a set of nodes can have a box of its own: under which parent, around which whole groups and loose nodes. */
function fit(nodes: number[], parent: number[], nodeGroup: Int32Array, size: number[]): Place | null {
  if (nodes.length === 0) return { parent: -1, groups: [], nodes: [] };
  const inside = new Map<number, number>();
  for (const v of nodes) for (let g = nodeGroup[v]; g >= 0; g = parent[g]) inside.set(g, (inside.get(g) ?? 0) + 1);
  let home = -1;
  const whole = new Set<number>();
  for (const [g, count] of inside) {
    if (count < nodes.length) {
      if (count < size[g]) return null;
      whole.add(g);
    } else if (home < 0 || depthOf(g, parent) > depthOf(home, parent)) home = g;
  }
  return {
    parent: home,
    groups: [...whole].filter((g) => parent[g] === home),
    nodes: nodes.filter((v) => nodeGroup[v] === home),
  };
}

function sizes(parent: number[], nodeGroup: Int32Array): number[] {
  const size = new Array<number>(parent.length).fill(0);
  for (let v = 0; v < nodeGroup.length; v++) for (let g = nodeGroup[v]; g >= 0; g = parent[g]) size[g]++;
  return size;
}

/** Nodes of both sides that one side has in a box and the other side has outside of the same box. */
function misplaced(
  a: Graph,
  wanted: Int32Array,
  mapped: Int32Array,
  parent: number[],
  before: number[],
  afterGroup: Int32Array,
): number[] {
  const out: number[] = [];
  for (let v = 0; v < a.nodeCount; v++) {
    if (wanted[v] < 0) continue;
    let shared = 0;
    for (let g = afterGroup[wanted[v]]; g >= 0; g = parent[g]) if (before[g] >= 0) shared++;
    let chain = 0;
    let astray = false;
    for (let g = a.group[v]; g >= 0; g = a.groupParent[g]) {
      chain++;
      astray ||= !isWithin(parent, afterGroup[wanted[v]], mapped[g]);
    }
    if (astray || chain !== shared) out.push(v);
  }
  return out;
}

/** All groups, each after the one around it. */
export function outsideIn(parent: Int32Array): Int32Array {
  const depth = parent.map((_, g) => depthOf(g, parent));
  return new Int32Array(rowsBy(depth, 1 + depth.reduce((most, each) => Math.max(most, each), 0)).items);
}

function depthOf(group: number, parent: ArrayLike<number>): number {
  let depth = 0;
  for (let g = group; g >= 0; g = parent[g]) depth++;
  return depth;
}

export function isWithin(parent: ArrayLike<number>, inner: number, outer: number): boolean {
  for (let g = inner; g >= 0; g = parent[g]) if (g === outer) return true;
  return false;
}

/** Groups before and after that hold the same place: best overlap in both directions, of one kind; else one name. */
function match(sides: readonly [Graph, Graph], wanted: Int32Array): Int32Array {
  const [a, b] = sides;
  const overlap = new Map<number, number>();
  let run = 0;
  for (let v = 0; v < a.nodeCount; v++) {
    if (wanted[v] < 0) continue;
    run++;
    if (wanted[v + 1] >= 0 && a.group[v + 1] === a.group[v] && b.group[wanted[v + 1]] === b.group[wanted[v]]) continue;
    // The whole chain of boxes around the nodes of a run, each against each of its own kind: chains are short.
    for (let g = a.group[v]; g >= 0; g = a.groupParent[g]) {
      for (let h = b.group[wanted[v]]; h >= 0; h = b.groupParent[h]) {
        if (a.groupKind[g] === b.groupKind[h]) {
          const key = g * b.groupCount + h;
          overlap.set(key, (overlap.get(key) ?? 0) + run);
        }
      }
    }
    run = 0;
  }
  const found = new Int32Array(a.groupCount).fill(-1);
  const taken = new Uint8Array(b.groupCount);
  const ranked = [...overlap].sort((x, y) => y[1] - x[1] || x[0] - y[0]);
  const same = (key: number) =>
    text(a, a.groupName[Math.floor(key / b.groupCount)]) === text(b, b.groupName[key % b.groupCount]);
  for (const sameName of [true, false]) {
    for (const [key] of ranked) {
      const g = Math.floor(key / b.groupCount);
      const h = key % b.groupCount;
      if (found[g] >= 0 || taken[h] || same(key) !== sameName) continue;
      found[g] = h;
      taken[h] = 1;
    }
  }
  dropTwisted(a, b, found);
  return found;
}

/** A match that puts a box inside what it was around would be no hierarchy: such matches are let go. */
function dropTwisted(a: Graph, b: Graph, found: Int32Array): void {
  for (let g = 0; g < a.groupCount; g++) {
    for (let up = a.groupParent[g]; found[g] >= 0 && up >= 0; up = a.groupParent[up]) {
      if (found[up] < 0) continue;
      if (!isWithin(b.groupParent, b.groupParent[found[g]], found[up])) found[g] = -1;
      break;
    }
  }
}

/** The nodes in each group, and in the groups in it. */
function members({ nodeCount, group, groupCount, groupParent }: Graph): number[][] {
  const lists: number[][] = Array.from({ length: groupCount }, () => []);
  for (let v = 0; v < nodeCount; v++) for (let g = group[v]; g >= 0; g = groupParent[g]) lists[g].push(v);
  return lists;
}

/** Siblings that still are a readable list. */
const MANY = 100;
/** Chunks wanted at most; their size is a round number. */
const CHUNKS = 30;

interface Numbered {
  group: number;
  number: number;
  /** The name around its number, and the number as it is written. */
  before: string;
  digits: string;
  after: string;
}

/**
 * Very deep models have more layers than a person reads at once: numbered scopes beside each other, "layer_0",
 * "layer_1" and so on, are put into one level more, "layer_0–49 ×50".
 */
export function foldLayers(groups: PictureGroups): PictureGroups {
  const families = new Map<string, Numbered[]>();
  for (let g = 0; g < groups.count; g++) {
    const found = groups.kind[g] === GroupKind.scope ? /^(.{0,200}?)(\d{1,7})(\D{0,200})$/.exec(groups.name[g]) : null;
    if (!found) continue;
    const [, before, digits, after] = found;
    append(families, `${groups.parent[g]}|${before}|${after}`, {
      group: g,
      number: Number(digits),
      digits,
      before,
      after,
    });
  }
  const many = [...families.values()].filter((family) => family.length > MANY);
  return many.length === 0 ? groups : withChunks(groups, many);
}

function withChunks(groups: PictureGroups, families: Numbered[][]): PictureGroups {
  const kind = [...groups.kind];
  const parent = [...groups.parent];
  const side = [...groups.side];
  const name = [...groups.name];
  for (const family of families) {
    const size = roundSize(family.length);
    family.sort((a, b) => a.number - b.number || a.group - b.group);
    for (let from = 0; from < family.length; from += size) {
      const members = family.slice(from, from + size).map((f) => f.group);
      const chunk = parent.length;
      parent.push(parent[members[0]]);
      kind.push(GroupKind.scope);
      side.push(members.reduce((bits, g) => bits | groups.side[g], 0));
      name.push(rangeName(family.slice(from, from + size)));
      for (const g of members) parent[g] = chunk;
    }
  }
  const none = (ids: Int32Array) => Int32Array.from(parent, (_, g) => ids[g] ?? -1);
  return {
    count: parent.length,
    kind: Uint8Array.from(kind),
    parent: Int32Array.from(parent),
    side: Uint8Array.from(side),
    name,
    id: [none(groups.id[0]), none(groups.id[1])],
  };
}

function rangeName(layers: Numbered[]): string {
  const [first, last] = [layers[0], layers[layers.length - 1]];
  return `${first.before}${first.digits}–${last.digits}${first.after} ×${layers.length}`;
}

function roundSize(count: number): number {
  for (let ten = 10; ; ten *= 10) for (const size of [ten, 2 * ten, 5 * ten]) if (count / size <= CHUNKS) return size;
}
