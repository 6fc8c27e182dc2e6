/** The state of a text tab: which rows are in the page, which are folded, what a search finds. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type Folded } from "../text/compare.ts";
import { type PrintedPair, type Side } from "./printed_pair.ts";

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
