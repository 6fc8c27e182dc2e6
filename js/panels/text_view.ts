/** Two printed modules compared line by line, and the state of their tab: which rows are in the page, which are folded, what a search finds. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Picture } from "../graph/picture.ts";
import { Kind } from "../model/messages.ts";
import { type PrintedModule } from "../model/trace_store.ts";
import { compareTexts, type Folded, folds, type TextRow } from "../text/compare.ts";

/** Rows put into the page at a time; the next ones come when the end of these is near. */
const CHUNK = 150;

export class TextView {
  /** Rows from here on are not in the page yet. */
  readonly end = signal(CHUNK);
  readonly folds = signal<readonly Folded[]>([]);
  /** The row that the keyboard is on; -1 for none. */
  readonly cursor = signal(-1);
  /** The row to scroll to; a new object each time. */
  readonly goal = signal<{ row: number; nearest?: boolean } | null>(null);
  /** Rows with the searched words, and the place among them. */
  readonly found: ReadonlySignal<readonly number[]>;
  readonly place = signal(0);
  /** The rows of the nodes that are selected in the picture. */
  readonly current: ReadonlySignal<ReadonlySet<number>>;
  /** A row's number, or a stretch of equal rows as one line. */
  readonly entries: ReadonlySignal<readonly (number | Folded)[]>;

  constructor(
    readonly pair: PrintedPair,
    readonly needle: ReadonlySignal<string>,
    selection: ReadonlySignal<readonly number[]>,
  ) {
    this.folds.value = pair.folds;
    this.found = computed(() => this.search());
    this.entries = computed(() => this.list());
    this.current = computed(() => this.rowsOf(new Set(selection.value)));
  }

  private list(): (number | Folded)[] {
    const byStart = new Map(this.folds.value.map((fold) => [fold.from, fold]));
    const last = Math.min(this.end.value, this.pair.rows.length);
    const entries: (number | Folded)[] = [];
    for (let r = 0; r < last; ) {
      const fold = byStart.get(r);
      entries.push(fold ?? r);
      r = fold ? fold.to : r + 1;
    }
    return entries;
  }

  private rowsOf(nodes: ReadonlySet<number>): Set<number> {
    const { rows, nodesOf } = this.pair;
    const binds = (side: Side, line: number) => nodesOf(side, line).some((u) => nodes.has(u));
    return new Set(rows.flatMap((row, r) => (binds(0, row.before) || binds(1, row.after) ? [r] : [])));
  }

  get complete(): boolean {
    return this.end.value >= this.pair.rows.length;
  }

  /** Put more entries into the page. */
  more(): void {
    const before = this.entries.value.length;
    while (!this.complete && this.entries.value.length < before + CHUNK) this.end.value += CHUNK;
  }

  open(fold: Folded): void {
    this.folds.value = this.folds.value.filter((other) => other !== fold);
  }

  openAll(): void {
    this.folds.value = [];
  }

  /** Have a row in the page, and scroll to it. */
  show(row: number, nearest = false): void {
    const fold = this.folds.value.find(({ from, to }) => from <= row && row < to);
    if (fold) this.open(fold);
    if (this.end.value <= row) this.end.value = row + CHUNK;
    this.goal.value = { row, nearest };
  }

  /** Move the keyboard's row among those in sight. */
  move(by: 1 | -1): void {
    const rows = this.entries.value.filter((entry) => typeof entry === "number");
    const now = rows.indexOf(this.cursor.value);
    const next = rows[now < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, now + by))];
    if (next === undefined) return;
    this.cursor.value = next;
    this.show(next, true);
  }

  /** The first rows of the stretches that differ. */
  changes(): number[] {
    const { rows } = this.pair;
    return rows.flatMap((row, r) => (row.kind !== "same" && (r === 0 || rows[r - 1]?.kind === "same") ? [r] : []));
  }

  /** Go to a place among the found rows; the one after the last is the first. */
  find(place: number): void {
    const { length } = this.found.value;
    this.place.value = length === 0 ? 0 : (place + length) % length;
    const row = this.found.value[this.place.value];
    if (row !== undefined) this.show(row);
  }

  private search(): number[] {
    const wanted = this.needle.value.toLowerCase();
    if (wanted === "") return [];
    const { lines, rows } = this.pair;
    const holds = (line: string | undefined) => line?.toLowerCase().includes(wanted) === true;
    return rows.flatMap((row, r) => (holds(lines[0][row.before]) || holds(lines[1][row.after]) ? [r] : []));
  }
}

export type Side = 0 | 1;

export interface PrintedPair {
  lines: readonly [string[], string[]];
  rows: readonly TextRow[];
  folds: readonly Folded[];
  /** The picture's nodes that a line of a side binds; lines from 0. */
  nodesOf(side: Side, line: number): readonly number[];
}

/** Two printed modules compared line by line, with the nodes that each line binds. */
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

/** Two texts compared line by line, without nodes. Equal ones are not folded. */
export function comparePlain(before: string, after: string): PrintedPair {
  const lines = [before.split("\n"), after.split("\n")] as const;
  const rows = compareTexts(lines[0], lines[1], [], () => false);
  return { lines: [...lines], rows, folds: before === after ? [] : folds(rows), nodesOf: () => [] };
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
