/** What a saved page can say of two states that it has no difference of: the differences between them, one after the other. */
import { column, type Bytes } from "../graph/payload.ts";
import { Mark } from "../graph/picture.ts";
import { type DiffPayload } from "./messages.ts";

type Known = (pair: readonly [number, number]) => DiffPayload | undefined;

export function composed(before: number, after: number, known: Known, size: (state: number) => number): DiffPayload | undefined {
  if (before > after) {
    const other = composed(after, before, known, size);
    return other && inverse(other);
  }
  let pairs = Array.from({ length: size(before) }, (_, v) => [v, v] as [number, number]);
  const changed = new Set<number>();
  for (let state = before; state < after; state++) {
    const step = known([state, state + 1]);
    if (!step) return undefined;
    const next = partners(step);
    const marks = column(Uint8Array, step.before_mark);
    for (const [v, w] of pairs) if (marks[w] !== Mark.kept) changed.add(v);
    pairs = pairs.flatMap(([v, w]) => (next.get(w) ?? []).map((x) => [v, x] as [number, number]));
  }
  return marked(pairs, changed, size(before), size(after));
}

/** For each node before, the nodes after that it is or became. */
export function partners(diff: DiffPayload): Map<number, number[]> {
  const flat = column(Uint32Array, diff.pairs);
  const found = new Map<number, number[]>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const list = found.get(flat[i]);
    if (list) list.push(flat[i + 1]);
    else found.set(flat[i], [flat[i + 1]]);
  }
  return found;
}

function marked(pairs: readonly [number, number][], changed: ReadonlySet<number>, n: number, m: number): DiffPayload {
  const from = new Array<number>(n).fill(0);
  const into = new Array<number>(m).fill(0);
  for (const [v, w] of pairs) {
    from[v]++;
    into[w]++;
  }
  const before = from.map((count, v) => (count === 0 ? Mark.removed : count > 1 ? Mark.split : changed.has(v) ? Mark.changed : Mark.kept) as number);
  const after = into.map((count) => (count === 0 ? Mark.added : count > 1 ? Mark.merged : Mark.kept) as number);
  for (const [v, w] of pairs) {
    if (after[w] === Mark.merged) before[v] = Mark.merged;
    else if (after[w] === Mark.kept) after[w] = before[v];
  }
  return { before_mark: before, after_mark: after, pairs: pairs.flat() };
}

function inverse(diff: DiffPayload): DiffPayload {
  const swap: Record<number, number> = { [Mark.removed]: Mark.added, [Mark.added]: Mark.removed, [Mark.merged]: Mark.split, [Mark.split]: Mark.merged };
  const turned = (marks: Bytes) => [...column(Uint8Array, marks)].map((mark) => swap[mark] ?? mark);
  const flat = column(Uint32Array, diff.pairs);
  const pairs: number[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push(flat[i + 1], flat[i]);
  return { before_mark: turned(diff.after_mark), after_mark: turned(diff.before_mark), pairs };
}
