/** Two printed modules side by side: rows, what kind each is, and which equal parts to fold. */
import { align, type Row } from "./align.ts";
import { compareLines, Names, type Piece } from "./words.ts";

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
