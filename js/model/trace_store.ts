/**
 * The states of a trace as far as the page has them: graphs, sizes, texts, differences, histories. The page asks for missing
 * ones, those on the screen first and then their neighbours, so that the next step has its graphs. A saved page answers from
 * its file. Sizes and counts are signals by state, since each is a cell of the list; of the rest the most recent are kept.
 */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { column } from "../graph/payload.ts";
import {
  type DiffPayload,
  type FactsMessage,
  type GraphPayload,
  type MarkCounts,
  type Place,
  type StateMessage,
  type ToPage,
} from "./messages.ts";
import { listen, type Model } from "./model.ts";
import { Recent } from "./recent.ts";

/** A module as printed, and for each node of its graph the line that binds it, from 1 (0: unknown). */
export interface PrintedModule {
  text: string;
  lines: Uint32Array;
}

/** The sizes of a state. */
export type Facts = Omit<FactsMessage | StateMessage, "type">;
export type Counts = MarkCounts;
export type Pair = readonly [number, number];
/** A request as Python reads it: its kind, and numbers of states or steps. */
export type Wish = [string, ...number[]];

/** States this far from the one on the screen are fetched whole; of the others only the sizes that the list shows. */
const NEAR = 12;
/** Nodes of the graphs that are kept, about 30 MB; the differences as many again. */
const KEPT_NODES = 300_000;
/** Characters of the texts that are kept. */
const KEPT_TEXT = 10_000_000;
const KEPT_PLACES = 100_000;

export class TraceStore {
  /** Counts the answers: a component that reads it is drawn again with each. */
  readonly news: ReadonlySignal<number>;
  private readonly count = signal(0);
  private readonly sizes = new Map<number, Signal<Facts | undefined>>();
  private readonly changes = new Map<string, Signal<Counts | undefined>>();
  private readonly graphs = new Recent<GraphPayload>(KEPT_NODES);
  private readonly diffs = new Recent<DiffPayload>(KEPT_NODES);
  private readonly texts = new Recent<PrintedModule>(KEPT_TEXT);
  private readonly codes = new Recent<string>(KEPT_TEXT);
  private readonly lineages = new Recent<Place[]>(KEPT_PLACES);
  private readonly asked = new Set<string>();
  private readonly gone = new Map<string, string>();
  readonly dispose: () => void;

  constructor(private readonly model: Model) {
    this.news = this.count;
    this.dispose = listen(model, (message) => this.take(message));
  }

  facts(state: number): ReadonlySignal<Facts | undefined> {
    return signalOf(this.sizes, state);
  }

  counts(pair: Pair): ReadonlySignal<Counts | undefined> {
    return signalOf(this.changes, key(pair));
  }

  graph(state: number): GraphPayload | undefined {
    return this.graphs.get(String(state));
  }

  text(state: number): PrintedModule | undefined {
    return this.texts.get(String(state));
  }

  /** The Python for a step, or for the comparison of two. */
  code(steps: readonly number[]): string | undefined {
    return this.codes.get(steps.join());
  }

  lineage(state: number, node: number): Place[] | undefined {
    return this.lineages.get(key([state, node]));
  }

  /** The changes between two states; none if they are one. */
  diff([before, after]: Pair): DiffPayload | undefined {
    return before === after ? this.identity(before) : this.diffs.get(key([before, after]));
  }

  /** The reason why one of these could not be answered; "" if there is none. */
  lost(wishes: readonly Wish[]): string {
    return wishes.map((wish) => this.gone.get(wish.join())).find((reason) => reason !== undefined) ?? "";
  }

  /** Ask for those that are missing; the first `urgent` again if they are under way, so that they go before the rest. */
  want(wishes: readonly Wish[], urgent = 0): void {
    const missing: Wish[] = [];
    const before = new Set(this.asked);
    wishes.forEach((wish, i) => {
      const name = wish.join();
      const underWay = this.asked.has(name) && (i >= urgent || !before.has(name));
      if (underWay || this.gone.has(name) || this.has(wish)) return;
      this.asked.add(name);
      missing.push(wish);
    });
    if (missing.length === 0) return;
    this.model.send({ type: "want", items: missing });
  }

  /** Ask again for those that could not be answered: the user wants them. */
  retry(wishes: readonly Wish[]): void {
    const lost = wishes.filter((wish) => this.gone.delete(wish.join()));
    if (lost.length > 0) this.tell();
    this.want(wishes, wishes.length);
  }

  /** The states near one that fit into memory. */
  near(state: number): number {
    const nodes = this.facts(state).peek()?.nodes ?? 0;
    return Math.max(1, Math.min(NEAR, Math.floor(KEPT_NODES / 4 / Math.max(1, nodes))));
  }

  private identity(state: number): DiffPayload | undefined {
    const graph = this.graphs.get(String(state));
    if (!graph) return undefined;
    const n = nodesOf(graph);
    const none = new Array<number>(n).fill(0);
    return { before_mark: none, after_mark: none, pairs: Array.from({ length: 2 * n }, (_, i) => i >> 1) };
  }

  private has([kind, ...numbers]: Wish): boolean {
    const [a = -1, b = -1] = numbers;
    switch (kind) {
      case "state":
        return this.graphs.has(String(a));
      case "facts":
        return this.facts(a).peek() !== undefined;
      case "text":
        return this.texts.has(String(a));
      case "code":
        return this.codes.has(numbers.join());
      case "diff":
        return this.diffs.has(key([a, b]));
      case "counts":
        return this.counts([a, b]).peek() !== undefined;
      default:
        return this.lineages.has(key([a, b]));
    }
  }

  private take(message: ToPage): void {
    const wish = message.type === "lost" ? message.wish.join() : this.put(message);
    if (wish === undefined) return;
    this.asked.delete(wish);
    if (message.type === "lost") this.gone.set(wish, message.text);
    else this.gone.delete(wish);
    this.tell();
  }

  /** Without a subscription of the effect that asked. */
  private tell(): void {
    this.count.value = this.count.peek() + 1;
  }

  /** Keep an answer; return its request. */
  private put(message: ToPage): string | undefined {
    switch (message.type) {
      case "state":
        this.graphs.set(String(message.state), message.graph, nodesOf(message.graph));
        this.size(message);
        return `state,${message.state}`;
      case "facts":
        this.size(message);
        return `facts,${message.state}`;
      case "text":
        this.texts.set(
          String(message.state),
          { text: message.text, lines: column(Uint32Array, message.lines) },
          message.text.length,
        );
        return `text,${message.state}`;
      case "code":
        this.codes.set(message.steps.join(), message.text, message.text.length);
        return `code,${message.steps.join()}`;
      case "diff":
        this.diffs.set(key([message.before, message.after]), message.diff, marksOf(message.diff));
        signalOf(this.changes, key([message.before, message.after])).value = message.counts;
        return `diff,${message.before},${message.after}`;
      case "counts":
        signalOf(this.changes, key([message.before, message.after])).value = message.counts;
        return `counts,${message.before},${message.after}`;
      case "lineage":
        this.lineages.set(key([message.state, message.node]), message.places, message.places.length);
        return `lineage,${message.state},${message.node}`;
      default:
        return undefined;
    }
  }

  private size({ state, nodes, ops, kernels }: Facts): void {
    const known = signalOf(this.sizes, state);
    known.value ??= { state, nodes, ops, kernels };
  }
}

/** The requests of a page that shows a pair: it first, its neighbours within `near` next, of the rest the list's numbers. */
export function around([before, after]: Pair, pairs: readonly Pair[], count: number, near = NEAR): Wish[] {
  const distance = (state: number) => Math.min(Math.abs(state - before), Math.abs(state - after));
  const away = ([a, b]: Pair) => Math.max(distance(a), distance(b));
  const states = Array.from({ length: count }, (_, n) => n).sort((p, q) => distance(p) - distance(q) || p - q);
  const changing = pairs.filter(([a, b]) => a !== b).sort((p, q) => away(p) - away(q));
  return [
    ...onScreen([before, after]),
    ...changing.filter((pair) => away(pair) <= near).flatMap(onScreen),
    ...states.map((n): Wish => [distance(n) <= near ? "state" : "facts", n]),
    ...changing.filter((pair) => away(pair) > near).map(([a, b]): Wish => ["counts", a, b]),
  ];
}

/** The requests for a pair of graphs. */
export function onScreen([before, after]: Pair): Wish[] {
  return before === after
    ? [["state", before]]
    : [
        ["state", before],
        ["state", after],
        ["diff", before, after],
      ];
}

function key(pair: Pair): string {
  return `${pair[0]}-${pair[1]}`;
}

function signalOf<Key, Value>(signals: Map<Key, Signal<Value | undefined>>, at: Key): Signal<Value | undefined> {
  const known = signals.get(at);
  if (known) return known;
  const made = signal<Value | undefined>(undefined);
  signals.set(at, made);
  return made;
}

function nodesOf(graph: GraphPayload): number {
  return column(Uint8Array, graph.node?.kind).length;
}

function marksOf(diff: DiffPayload): number {
  return column(Uint8Array, diff.before_mark).length + column(Uint8Array, diff.after_mark).length;
}
