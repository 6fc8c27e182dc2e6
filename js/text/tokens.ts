/** A line of printed IR as words, and which of them name values. */

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
export function isName(token: string): boolean {
  return token.length > 1 && token[0] === "%";
}

/** The line with values' names left out: lines that differ in numbering only have the same. */
export function unnumbered(line: string): string {
  return line.replace(NAME, "%");
}

export function valueNames(line: string): string[] {
  return line.match(NAME) ?? [];
}

/** Where a function begins, and with it the numbering. */
export function startsFunction(line: string): boolean {
  return /^\s*def\s/.test(line);
}
