/**
 * What differs in two lines, word by word. The printer numbers values anew after every pass, so a name is compared by
 * what it stands for: `%12` before is `%15` after if the lines that bind them stand beside each other. So a line whose
 * numbers moved is the same line, and a `%12` that is another value than `%12` was is a change that the text hides.
 */
import { common } from "./myers.ts";

/** Values' names with their sign, numbers, words with dots, blanks, and every other sign by itself. */
const TOKEN = /[%@]?[\p{L}\p{N}_][\p{L}\p{N}_.$]*|\s+|[\s\S]/gu;
const NAME = /%[\p{L}\p{N}_.$]+/gu;
/** `%12 = `, `let %x: int = ` of Relay; `lv: R.Tensor(...) = ` of TVMScript. */
const BINDING = /^\s*(?:let )?([%\p{L}_][\p{L}\p{N}_.$]*)(?:: .*?)? = /u;

export function tokens(line: string): string[] {
  return line.match(TOKEN) ?? [];
}

export function binding(line: string): string | null {
  return BINDING.exec(line)?.[1] ?? null;
}

/** Values that the printer numbers: their names say nothing but which one it is. */
function isName(token: string): boolean {
  return token.length > 1 && token[0] === "%";
}

/** The line with values' names left out: lines that differ in numbering only have the same. */
export function unnumbered(line: string): string {
  return line.replace(NAME, "%");
}

function valueNames(line: string): string[] {
  return line.match(NAME) ?? [];
}

/** Where a function begins, and with it the numbering. */
function startsFunction(line: string): boolean {
  return /^\s*def\s/.test(line);
}

/** Words of a line, those that differ marked. */
export interface Piece {
  text: string;
  differs: boolean;
}

/** What each name before is called after, as far as the rows above say. */
export class Names {
  /** null: what it names is gone. */
  private readonly after = new Map<string, string | null>();
  /** Names after that are known to be some value's. */
  private readonly taken = new Set<string>();

  /** Gets every row in order. */
  row(before: string | undefined, after: string | undefined): void {
    if ((before !== undefined && startsFunction(before)) || (after !== undefined && startsFunction(after))) {
      this.after.clear();
      this.taken.clear();
    }
    const from = before === undefined ? null : binding(before);
    const to = after === undefined ? null : binding(after);
    if (from !== null) this.after.set(from, to);
    if (to !== null) this.taken.add(to);
  }

  same(before: string, after: string): boolean {
    const known = this.after.get(before);
    return known === undefined ? before === after && !this.taken.has(after) : known === after;
  }

  /** As `same`, and a name that no row has bound yet (a parameter) is taken for what stands in its place. */
  learn(before: string, after: string): boolean {
    if (!isName(before) || !isName(after) || this.after.has(before) || this.taken.has(after))
      return this.same(before, after);
    this.after.set(before, after);
    this.taken.add(after);
    return true;
  }
}

/** The words of both lines; null where nothing differs. To be called for every row, in order. */
export function compareLines(before: string, after: string, names: Names): [Piece[], Piece[]] | null {
  names.row(before, after);
  // Most lines differ in values' names at most, and taking those out is quicker than taking the line apart.
  if (before.includes("%") && unnumbered(before) === unnumbered(after)) {
    const [ours, theirs] = [valueNames(before), valueNames(after)];
    if (ours.every((name, i) => names.learn(name, theirs[i]))) return null;
  }
  const [x, y] = [tokens(before), tokens(after)];
  const alike = x.length === y.length && x.every((token, i) => token === y[i] || (isName(token) && isName(y[i])));
  if (alike && x.every((token, i) => names.learn(token, y[i]))) return null;
  const pairs = common(x.length, y.length, (i, j) => names.same(x[i], y[j]), 400);
  if (pairs.length === x.length && pairs.length === y.length) return null;
  return [pieces(x, new Set(pairs.map(([i]) => i))), pieces(y, new Set(pairs.map(([, j]) => j)))];
}

function pieces(words: string[], kept: ReadonlySet<number>): Piece[] {
  const out: Piece[] = [];
  words.forEach((text, i) => {
    // A blank between two words that differ belongs to them.
    const blank = /^\s+$/.test(text) && out.at(-1)?.differs && i + 1 < words.length && !kept.has(i + 1);
    const differs = blank || !kept.has(i);
    const last = out.at(-1);
    if (last && last.differs === differs) last.text += text;
    else out.push({ text, differs });
  });
  return out;
}
