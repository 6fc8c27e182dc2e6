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
  type LoopRow,
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
  /** Of a program that only calls PrimFuncs. */
  loops?: readonly LoopRow[];
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
  private readonly sizes = new Map<string, Signal<Facts | undefined>>();
  private readonly changes = new Map<string, Signal<Counts | undefined>>();
  /** By the numbers of their requests. */
  private readonly kept = {
    state: new Recent<GraphPayload>(KEPT_NODES),
    diff: new Recent<DiffPayload>(KEPT_NODES),
    text: new Recent<PrintedModule>(KEPT_TEXT),
    code: new Recent<string>(KEPT_TEXT),
    lineage: new Recent<Place[]>(KEPT_PLACES),
  };
  private readonly asked = new Set<string>();
  private readonly gone = new Map<string, string>();
  readonly dispose: () => void;

  constructor(private readonly model: Model) {
    this.news = this.count;
    this.dispose = listen(model, (message) => this.take(message));
  }

  facts(state: number): ReadonlySignal<Facts | undefined> {
    return signalOf(this.sizes, String(state));
  }

  counts(pair: Pair): ReadonlySignal<Counts | undefined> {
    return signalOf(this.changes, pair.join());
  }

  graph(state: number): GraphPayload | undefined {
    return this.kept.state.get(String(state));
  }

  text(state: number): PrintedModule | undefined {
    return this.kept.text.get(String(state));
  }

  /** The Python for a step, or for the comparison of two. */
  code(steps: readonly number[]): string | undefined {
    return this.kept.code.get(steps.join());
  }

  lineage(state: number, node: number): Place[] | undefined {
    return this.kept.lineage.get(`${state},${node}`);
  }

  /** The changes between two states; none if they are one. */
  diff([before, after]: Pair): DiffPayload | undefined {
    return before === after ? this.identity(before) : this.kept.diff.get(`${before},${after}`);
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
    const graph = this.graph(state);
    if (!graph) return undefined;
    const n = nodesOf(graph);
    const none = new Array<number>(n).fill(0);
    return { before_mark: none, after_mark: none, pairs: Array.from({ length: 2 * n }, (_, i) => i >> 1) };
  }

  private has([kind, ...numbers]: Wish): boolean {
    const at = numbers.join();
    if (kind === "facts") return signalOf(this.sizes, at).peek() !== undefined;
    if (kind === "counts") return signalOf(this.changes, at).peek() !== undefined;
    return this.kept[kind as keyof typeof this.kept].has(at);
  }

  private take(message: ToPage): void {
    const wish = wishOf(message);
    if (!wish) return;
    this.asked.delete(wish.join());
    if (message.type === "lost") this.gone.set(wish.join(), message.text);
    else {
      this.gone.delete(wish.join());
      this.put(message, wish.slice(1).join());
    }
    this.tell();
  }

  /** Without a subscription of the effect that asked. */
  private tell(): void {
    this.count.value = this.count.peek() + 1;
  }

  private put(message: ToPage, at: string): void {
    const { kept } = this;
    if (message.type === "state") kept.state.set(at, message.graph, nodesOf(message.graph));
    if (message.type === "diff") kept.diff.set(at, message.diff, marksOf(message.diff));
    if (message.type === "code") kept.code.set(at, message.text, message.text.length);
    if (message.type === "lineage") kept.lineage.set(at, message.places, message.places.length);
    if (message.type === "text") {
      const { text, lines, loops } = message;
      kept.text.set(at, { text, lines: column(Uint32Array, lines), loops }, text.length);
    }
    if ("counts" in message) signalOf(this.changes, at).value = message.counts;
    if ("kernels" in message) {
      const { state, nodes, ops, kernels } = message;
      signalOf(this.sizes, at).value ??= { state, nodes, ops, kernels };
    }
  }
}

/** The request that a message answers. */
function wishOf(message: ToPage): Wish | undefined {
  switch (message.type) {
    case "state":
    case "facts":
    case "text":
      return [message.type, message.state];
    case "diff":
    case "counts":
      return [message.type, message.before, message.after];
    case "lineage":
      return ["lineage", message.state, message.node];
    case "code":
      return ["code", ...message.steps];
    case "lost":
      return message.wish as Wish;
    default:
      return undefined;
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

function signalOf<Value>(signals: Map<string, Signal<Value | undefined>>, at: string): Signal<Value | undefined> {
  const known = signals.get(at) ?? signal<Value | undefined>(undefined);
  signals.set(at, known);
  return known;
}

function nodesOf(graph: GraphPayload): number {
  return column(Uint8Array, graph.node?.kind).length;
}

function marksOf(diff: DiffPayload): number {
  return column(Uint8Array, diff.before_mark).length + column(Uint8Array, diff.after_mark).length;
}
