/** Two printed modules compared line by line, with the nodes that each line binds. */

import { type Picture } from "../graph/picture.ts";
import { Kind } from "../model/messages.ts";
import { type PrintedModule } from "../model/trace_store.ts";
import { compareTexts, type Folded, folds, type TextRow } from "../text/compare.ts";

export type Side = 0 | 1;

export interface PrintedPair {
  lines: readonly [string[], string[]];
  rows: readonly TextRow[];
  folds: readonly Folded[];
  /** The picture's nodes that a line of a side binds; lines from 0. */
  nodesOf(side: Side, line: number): readonly number[];
}

export function comparePrinted(before: PrintedModule, after: PrintedModule, picture: Picture): PrintedPair {
  const lines = [before.text.split("\n"), after.text.split("\n")] as const;
  const nodes = [nodesByLine(before, picture, 0), nodesByLine(after, picture, 1)] as const;
  const nodesOf = (side: Side, line: number) => nodes[side].get(line) ?? [];
  const binds = (side: Side, u: number) => !isInline(picture.sides[side].kind[picture.id[side][u] ?? -1]);
  const stays = (side: Side, line: number) =>
    nodesOf(side, line).some((u) => (picture.id[side === 0 ? 1 : 0][u] ?? -1) >= 0 && binds(side, u));
  const rows = compareTexts(lines[0], lines[1], anchors(before, after, picture), stays);
  return { lines: [...lines], rows, folds: folds(rows), nodesOf };
}

function nodesByLine(printed: PrintedModule, picture: Picture, side: Side): Map<number, number[]> {
  const byLine = new Map<number, number[]>();
  printed.lines.forEach((line, v) => {
    const u = picture.node[side][v] ?? -1;
    if (line === 0 || u < 0) return;
    const list = byLine.get(line - 1);
    if (list) list.push(u);
    else byLine.set(line - 1, [u]);
  });
  return byLine;
}

/** Printed inside the lines of their users: such a line does not show where the node is bound. */
const INLINE: readonly number[] = [Kind.param, Kind.constant, Kind.global];

function isInline(kind: number | undefined): boolean {
  return kind !== undefined && INLINE.includes(kind);
}

/** Lines that bind the same node on both sides, and those of nodes that became each other; operators before tuples, which share lines. */
function anchors(before: PrintedModule, after: PrintedModule, picture: Picture): [number, number][] {
  const first: [number, number][] = [];
  const rest: [number, number][] = [];
  const add = (v = -1, w = -1) => {
    const [line, other] = [before.lines[v], after.lines[w]];
    if (!line || !other) return;
    const kind = picture.sides[0].kind[v];
    if (isInline(kind)) return;
    (kind === Kind.op || kind === Kind.call ? first : rest).push([line - 1, other - 1]);
  };
  for (let u = 0; u < picture.nodeCount; u++) add(picture.id[0][u], picture.id[1][u]);
  for (const [u, others] of picture.partners) for (const w of others) add(picture.id[0][u], picture.id[1][w]);
  return [...first, ...rest];
}
