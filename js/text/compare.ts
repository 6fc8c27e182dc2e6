/**
 * Two printed modules side by side: rows, what kind each is, and which equal parts to fold. What the graph's diff says of the
 * nodes comes first: a line that binds a node stands beside the line that binds the same node after the pass, whatever the
 * printer calls it there. Only what binds no node (heads of functions, braces, calls of fused functions) is compared as text,
 * between those.
 */
import { common } from "./myers.ts";
import { compareLines, Names, type Piece, unnumbered } from "./words.ts";

type Kind = "same" | "changed" | "removed" | "added" | "moved";

export interface TextRow extends Row {
  kind: Kind;
  /** Where words differ; null: the whole line is one. */
  words: readonly [Piece[], Piece[]] | null;
}

export interface Folded {
  from: number;
  to: number;
}

/** `stays` says whether the node that a line of a side binds is on the other side too: then the line has only moved. */
export function compareTexts(
  before: readonly string[],
  after: readonly string[],
  anchors: readonly (readonly [number, number])[],
  stays: (side: 0 | 1, line: number) => boolean,
): TextRow[] {
  const names = new Names();
  return align(before, after, anchors).map((row) => {
    const [a, b] = [before[row.before], after[row.after]];
    if (a !== undefined && b !== undefined) {
      const words = compareLines(a, b, names);
      return { ...row, kind: words ? "changed" : "same", words };
    }
    names.row(a, b);
    const side = a === undefined ? 1 : 0;
    const kind = stays(side, side === 0 ? row.before : row.after) ? "moved" : side === 0 ? "removed" : "added";
    return { ...row, kind, words: null };
  });
}

/** Stretches of equal rows worth folding: all but `context` rows beside each change. */
export function folds(rows: readonly TextRow[], context = 3): Folded[] {
  const out: Folded[] = [];
  for (let i = 0; i < rows.length; i++) {
    if (rows[i].kind !== "same") continue;
    let end = i;
    while (end < rows.length && rows[end].kind === "same") end++;
    const from = i === 0 ? 0 : i + context;
    const to = end === rows.length ? end : end - context;
    if (to - from > 2) out.push({ from, to });
    i = end;
  }
  return out;
}

/** Places in the two lists of lines; -1: the line is on the other side only. */
interface Row {
  before: number;
  after: number;
}

/** Lines as lists, places from 0; `anchors` are pairs of lines that bind the same node, in any order. */
export function align(
  before: readonly string[],
  after: readonly string[],
  anchors: readonly (readonly [number, number])[],
): Row[] {
  const rows: Row[] = [];
  const bare = [before.map(unnumbered), after.map(unnumbered)] as const;
  let [i, j] = [0, 0];
  for (const [a, b] of [...rising(anchors), [before.length, after.length] as const]) {
    between(rows, bare, [i, a], [j, b]);
    if (a < before.length) rows.push({ before: a, after: b });
    [i, j] = [a + 1, b + 1];
  }
  return rows;
}

function between(
  rows: Row[],
  bare: readonly [string[], string[]],
  [i, endBefore]: [number, number],
  [j, endAfter]: [number, number],
): void {
  const [x, y] = bare;
  const pairs = common(endBefore - i, endAfter - j, (p, q) => x[i + p] === y[j + q]).map(([p, q]) => [i + p, j + q]);
  for (const [p, q] of [...pairs, [endBefore, endAfter]]) {
    // What is left on both sides is the same line changed where it begins alike: the head of a function with another type, say.
    while (i < p && j < q && alike(x[i], y[j])) rows.push({ before: i++, after: j++ });
    while (i < p) rows.push({ before: i++, after: -1 });
    while (j < q) rows.push({ before: -1, after: j++ });
    if (p < endBefore || q < endAfter) rows.push({ before: i++, after: j++ });
  }
}

function alike(a: string, b: string): boolean {
  const start = (line: string) =>
    line
      .trimStart()
      .split(/[\s({]/, 3)
      .join(" ");
  return a !== "" && start(a) === start(b);
}

/** The longest list of anchors that rises on both sides: lines can't be drawn beside each other crosswise. */
export function rising(anchors: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const one = new Map<number, number>();
  const taken = new Set<number>();
  for (const [a, b] of anchors) {
    if (a < 0 || b < 0 || one.has(a) || taken.has(b)) continue;
    one.set(a, b);
    taken.add(b);
  }
  const list = [...one].sort((p, q) => p[0] - q[0]);
  // ends[k]: the anchor that ends the best rising list of length k + 1; previous: what comes before each in its list
  const ends: number[] = [];
  const previous = new Int32Array(list.length).fill(-1);
  list.forEach(([, b], p) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (list[ends[mid]][1] < b) low = mid + 1;
      else high = mid;
    }
    if (low > 0) previous[p] = ends[low - 1];
    ends[low] = p;
  });
  const found: (readonly [number, number])[] = [];
  for (let p = ends.at(-1) ?? -1; p >= 0; p = previous[p]) found.push(list[p]);
  return found.reverse();
}
