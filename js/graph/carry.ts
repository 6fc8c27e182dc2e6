/**
 * Which node of a new picture is which node of the picture before it, when nothing but the two pictures is known
 * (a toggle or a step gives new graphs). Places and open groups are kept by a guess: a wrong one costs a glide.
 * The selection is kept only where it is exact, since Python gets it.
 *
 * Exact first: nodes whose whole computation is equal, side against side. From there along the edges: what takes a
 * matched value at the same argument and looks alike is the same node. Looks alone decide only where they are unique.
 */
import { append, numbersTo, type Rows, rowsBy } from "./csr.ts";
import { type Graph, text, textOf } from "./payload.ts";
import { type Picture, placeOf } from "./picture.ts";

/** One step on, the result becomes the input; a toggle keeps the input; one step back, the input becomes the result. */
const SIDES = [
  [1, 0],
  [0, 0],
  [0, 1],
  [1, 1],
] as const;

interface Carried {
  /** For each node of `next`, a node of `old` or -1. */
  nodes: Int32Array;
  /** The nodes of `next` that are the selected ones of `old`, without a guess. */
  selection: number[];
}

export function carry(old: Picture, next: Picture, selection: readonly number[] = []): Carried {
  const match: Match = { found: new Int32Array(next.nodeCount).fill(-1), taken: new Uint8Array(old.nodeCount) };
  const names = new Map<string, number>();
  const known = new Map<Graph, Uint32Array>();
  const keysOf = (graph: Graph) => known.get(graph) ?? known.set(graph, inputKeys(graph, names)).get(graph)!;
  const kept = new Map<number, number>();
  // A graph of both pictures (a step's result is the next one's input) needs no keys, and says more than they do.
  const shared = SIDES.filter(([from, to]) => old.sides[from] === next.sides[to] && old.sides[from].nodeCount > 0);
  for (const [from, to] of shared) inPlace(old.node[from], next.node[to], match);
  for (const [from, to] of SIDES) {
    if (shared.length === 0)
      byKey(keysOf(old.sides[from]), old.node[from], keysOf(next.sides[to]), next.node[to], match, false);
    for (const u of selection) {
      const v = kept.has(u) ? -1 : old.id[from][u];
      const w = v < 0 ? -1 : counterpart(old.sides[from], v, next.sides[to], keysOf);
      if (w >= 0 && typeOf(old, from, v) === typeOf(next, to, w)) kept.set(u, next.node[to][w]);
    }
  }
  if (!match.found.includes(-1)) return { nodes: match.found, selection: [...new Set(kept.values())] };
  const looks = [
    looksOf(old, names, (u) => match.taken[u] === 0),
    looksOf(next, names, (u) => match.found[u] < 0),
  ] as const;
  alongEdges(old, next, looks, match);
  byKey(looks[0], numbersTo(old.nodeCount), looks[1], numbersTo(next.nodeCount), match, true);
  return { nodes: match.found, selection: [...new Set(kept.values())] };
}

/** The one node that computes the same as node `v`: at its place in an equal graph, else the only one; -1 for none. */
function counterpart(from: Graph, v: number, to: Graph, keysOf: (graph: Graph) => Uint32Array): number {
  if (from === to) return v;
  const [keys, others] = [keysOf(from), keysOf(to)];
  if (keys.length === others.length && keys.every((key, i) => key === others[i])) return v;
  const only = (list: Uint32Array) => list.indexOf(keys[v]) === list.lastIndexOf(keys[v]);
  return only(keys) && only(others) ? others.indexOf(keys[v]) : -1;
}

function typeOf(picture: Picture, side: 0 | 1, v: number): string {
  return text(picture.sides[side], picture.sides[side].type[v]);
}

interface Match {
  found: Int32Array;
  taken: Uint8Array;
}

/** The nodes of one graph in two pictures. */
function inPlace(old: Int32Array, next: Int32Array, { found, taken }: Match): void {
  next.forEach((u, v) => {
    if (found[u] >= 0 || taken[old[v]]) return;
    found[u] = old[v];
    taken[old[v]] = 1;
  });
}

function byKey(
  oldKeys: Uint32Array,
  oldNode: Int32Array,
  nextKeys: Uint32Array,
  nextNode: Int32Array,
  match: Match,
  onlyUnique: boolean,
): void {
  const waiting = new Map<number, number[]>();
  for (let v = oldKeys.length - 1; v >= 0; v--) {
    if (match.taken[oldNode[v]]) continue;
    append(waiting, oldKeys[v], oldNode[v]);
  }
  const wanted = new Map<number, number>();
  if (onlyUnique)
    nextKeys.forEach((key, v) => {
      if (match.found[nextNode[v]] < 0) wanted.set(key, (wanted.get(key) ?? 0) + 1);
    });
  for (let v = 0; v < nextKeys.length; v++) {
    const u = nextNode[v];
    const list = waiting.get(nextKeys[v]);
    if (match.found[u] >= 0 || !list || (onlyUnique && (list.length > 1 || wanted.get(nextKeys[v]) !== 1))) continue;
    const from = list.pop();
    if (from === undefined || match.taken[from]) continue;
    match.found[u] = from;
    match.taken[from] = 1;
  }
}

/** Spreads from matched nodes to their consumers and producers until nothing new is found. */
function alongEdges(old: Picture, next: Picture, looks: readonly [Uint32Array, Uint32Array], match: Match): void {
  const ends = (p: Picture) =>
    [
      [p.outEdges, p.target],
      [p.inEdges, p.source],
    ] as [Rows, Uint32Array][];
  const oldEnds = ends(old);
  const nextEnds = ends(next);
  const queue: number[] = [];
  for (let u = 0; u < next.nodeCount; u++) if (match.found[u] >= 0) queue.push(u);
  for (let head = 0; head < queue.length; head++) {
    const u = queue[head];
    const was = match.found[u];
    for (const way of [0, 1]) {
      const [edges, far] = nextEnds[way];
      const [oldEdges, oldFar] = oldEnds[way];
      for (let i = edges.offset[u]; i < edges.offset[u + 1]; i++) {
        const e = edges.items[i];
        const v = far[e];
        if (match.found[v] >= 0) continue;
        for (let k = oldEdges.offset[was]; k < oldEdges.offset[was + 1]; k++) {
          const f = oldEdges.items[k];
          const w = oldFar[f];
          if (match.taken[w] || looks[0][w] !== looks[1][v] || old.index[f] !== next.index[e]) continue;
          match.found[v] = w;
          match.taken[w] = 1;
          queue.push(v);
          break;
        }
      }
    }
  }
}

function number(names: Map<string, number>, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, names.size + 1);
  return names.size;
}

/** The looks of the nodes that are still to be found. */
function looksOf(picture: Picture, names: Map<string, number>, open: (u: number) => boolean): Uint32Array {
  const keys = new Uint32Array(picture.nodeCount);
  for (let u = 0; u < keys.length; u++) {
    if (!open(u)) continue;
    const { graph, id: v } = placeOf(picture, u, 1);
    keys[u] = number(names, `${graph.kind[v]}|${textOf(graph, "label", v)}|${textOf(graph, "type", v).slice(0, 200)}`);
  }
  return keys;
}

function inputKeys(graph: Graph, names: Map<string, number>): Uint32Array {
  const keys = new Uint32Array(graph.nodeCount);
  const into = rowsBy(graph.target, graph.nodeCount);
  for (let v = 0; v < keys.length; v++) {
    // Nodes come producers first, so every input's key is known here.
    let inputs = "";
    for (let i = into.offset[v]; i < into.offset[v + 1]; i++)
      inputs += `,${graph.index[into.items[i]]}:${keys[graph.source[into.items[i]]]}`;
    keys[v] = number(names, `=${graph.kind[v]}|${textOf(graph, "label", v)}|${textOf(graph, "attrs", v)}${inputs}`);
  }
  return keys;
}

export function carriedGroups(old: Picture, next: Picture, nodes: Int32Array): Int32Array {
  const votes = new Map<number, Map<number, number>>();
  let run = 0;
  for (let u = 0; u < next.nodeCount; u++) {
    if (nodes[u] < 0) continue;
    run++;
    // Nodes that follow in the same groups vote with it.
    if (next.group[u + 1] === next.group[u] && nodes[u + 1] >= 0 && old.group[nodes[u + 1]] === old.group[nodes[u]])
      continue;
    let h = old.group[nodes[u]];
    for (let g = next.group[u]; g >= 0 && h >= 0; g = next.groups.parent[g], h = old.groups.parent[h]) {
      const tally = votes.get(g) ?? new Map<number, number>();
      tally.set(h, (tally.get(h) ?? 0) + run);
      votes.set(g, tally);
    }
    run = 0;
  }
  const out = new Int32Array(next.groups.count).fill(-1);
  for (const [g, tally] of votes) {
    let most = 0;
    for (const [h, count] of tally) {
      if (count > most && next.groups.kind[g] === old.groups.kind[h]) {
        most = count;
        out[g] = h;
      }
    }
  }
  return out;
}
