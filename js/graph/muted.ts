/**
 * What the legend lists and can mute: op types by name, other kinds of node by their kind, and in a comparison the marks.
 * The names are those that Python's `muted` trait has: "nn.relu", "constant", "mark:kept".
 */
import { Kind } from "../model/messages.ts";
import { KINDS, textOf } from "./payload.ts";
import { kindOf, MARKS, type Picture, placeOf } from "./picture.ts";

/** The row of the legend that a node is counted in. */
function typeName(picture: Picture, u: number): string {
  const { graph, id: v } = placeOf(picture, u, 1);
  const kind = graph.kind[v];
  return kind === Kind.op ? textOf(graph, "label", v) : (KINDS[kind] ?? "op");
}

export interface Tally {
  name: string;
  count: number;
}

/** Op types by how often they occur, then the other kinds. */
export function opTypes(picture: Picture): { ops: Tally[]; kinds: Tally[] } {
  const ops = new Map<string, number>();
  const kinds = new Map<string, number>();
  for (let u = 0; u < picture.nodeCount; u++) {
    const into = kindOf(picture, u) === Kind.op ? ops : kinds;
    const name = typeName(picture, u);
    into.set(name, (into.get(name) ?? 0) + 1);
  }
  const list = (map: Map<string, number>) =>
    [...map].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
  return { ops: list(ops), kinds: list(kinds) };
}

/** Nodes with each mark, by its number; a node of both sides can have two. */
export function markCounts(picture: Picture): number[] {
  const counts = MARKS.map(() => 0);
  for (let u = 0; u < picture.nodeCount; u++) {
    // Several nodes that became one count once, as in Python's GraphDiff.counts. A node that is not there has the mark that is not counted.
    const before = picture.id[0][u] < 0 ? MERGED : picture.mark[0][u];
    const after = picture.id[1][u] < 0 ? SPLIT : picture.mark[1][u];
    if (before !== MERGED) counts[before]++;
    if (after !== SPLIT && (after !== before || before === MERGED)) counts[after]++;
  }
  return counts;
}

const [MERGED, SPLIT] = [MARKS.indexOf("merged"), MARKS.indexOf("split")];

function marksOf(picture: Picture, u: number): number[] {
  return ([0, 1] as const).filter((s) => picture.id[s][u] >= 0).map((s) => picture.mark[s][u]);
}

/** 1 for each node that is muted; null where nothing is. */
export function mutedNodes(picture: Picture, names: readonly string[]): Uint8Array | null {
  if (names.length === 0) return null;
  const muted = new Set(names);
  const marks = new Set(picture.compares ? MARKS.flatMap((mark, i) => (muted.has(`mark:${mark}`) ? [i] : [])) : []);
  const out = new Uint8Array(picture.nodeCount);
  for (let u = 0; u < picture.nodeCount; u++) {
    if (muted.has(typeName(picture, u)) || (marks.size > 0 && marksOf(picture, u).every((mark) => marks.has(mark))))
      out[u] = 1;
  }
  return out;
}
