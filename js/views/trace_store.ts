/**
 * The states of a trace as far as the page has them: graphs, sizes, texts, differences. What is missing is asked for,
 * what is on screen first and then what lies next to it, so that a step finds its graphs here. A saved page has them all.
 */
import { column } from "../graph/payload.ts";
import { unzipped } from "../unzip.ts";
import { type DiffPayload, type FactsMessage, type StateMessage, type GraphPayload, type Mark, type Place, type ToPage } from "./messages.ts";
import { type Model } from "./model.ts";
import { unpacked } from "./packing.ts";
import { composed } from "./composed.ts";
import { type PrintedModule } from "./text_diff.ts";

/** The sizes of a state. */
export type Facts = Omit<FactsMessage | StateMessage, "type">;

export type Counts = Partial<Record<Mark, number>>;
export type Pair = readonly [number, number];
/** As Python reads it: what, and the numbers of the states. */
export type Wish = [string, ...number[]];

/** States this far from the one on screen are fetched whole; of the others only the sizes that the list shows. */
const NEAR = 12;
/** States farther than this are forgotten again, and fetched anew when they come near. */
const FAR = 40;

export class TraceStore {
  readonly facts = new Map<number, Facts>();
  readonly texts = new Map<number, PrintedModule>();
  readonly lineages = new Map<string, Place[]>();
  private readonly graphs = new Map<number, GraphPayload>();
  private readonly diffs = new Map<string, DiffPayload>();
  private readonly countsOf = new Map<string, Counts>();
  private readonly asked = new Set<string>();
  /** Told after each thing that came; with what could not be made, in words. */
  onnews: (lost: string) => void = () => undefined;
  private readonly heard = (message: unknown, buffers: unknown) => this.take(message as ToPage, (buffers ?? []) as unknown[]);

  constructor(private readonly model: Model) {
    model.on("msg:custom", this.heard as (...args: never[]) => void);
    const pool = model.get("pool");
    if (typeof pool !== "string") return;
    // A saved page: nothing has to be asked for, and nobody would answer.
    this.saved = true;
    void unzipped(pool).then((text) => {
      for (const message of JSON.parse(text) as ToPage[]) this.put(message);
      this.onnews("");
    }, () => this.onnews("The states in this page are damaged: save it again."));
  }

  readonly saved: boolean = false;

  graph(state: number): GraphPayload | undefined {
    return this.graphs.get(state);
  }

  counts(pair: Pair): Counts | undefined {
    return this.countsOf.get(key(pair));
  }

  /** What changed between two states; nothing if they are one. */
  diff([before, after]: Pair): DiffPayload | undefined {
    if (before === after) return this.identity(before);
    const known = this.diffs.get(key([before, after]));
    return known ?? (this.saved ? composed(before, after, (pair) => this.diffs.get(key(pair)), (state) => this.size(state)) : undefined);
  }

  private size(state: number): number {
    return column(Uint8Array, this.graphs.get(state)?.node?.kind).length;
  }

  private identity(state: number): DiffPayload | undefined {
    if (!this.graphs.has(state)) return undefined;
    const n = this.size(state);
    const pairs = Array.from({ length: 2 * n }, (_, i) => i >> 1);
    return { before_mark: new Array<number>(n).fill(0), after_mark: new Array<number>(n).fill(0), pairs };
  }

  /** Asks for whatever of these is missing; the first `urgent` even if they were asked for, so that they go before the rest. */
  want(wishes: readonly Wish[], urgent = 0): void {
    if (this.saved) return;
    const missing = wishes.filter((wish, i) => !this.has(wish) && (i < urgent || !this.asked.has(wish.join())));
    if (missing.length === 0) return;
    for (const wish of missing) this.asked.add(wish.join());
    this.model.send({ type: "want", items: missing });
  }

  /** The wishes of a page that shows a pair of states: it first, its neighbours next, of the rest what the list says. */
  static around([before, after]: Pair, pairs: readonly Pair[], count: number): Wish[] {
    const distance = (state: number) => Math.min(Math.abs(state - before), Math.abs(state - after));
    const states = Array.from({ length: count }, (_, n) => n).sort((p, q) => distance(p) - distance(q) || p - q);
    const away = ([a, b]: Pair) => Math.max(distance(a), distance(b));
    const changing = pairs.filter(([a, b]) => a !== b).sort((p, q) => away(p) - away(q));
    const near = (d: number) => d <= NEAR;
    return [
      ["state", before], ["state", after], ...(before === after ? [] : [["diff", before, after] as Wish]),
      ...changing.filter((pair) => near(away(pair))).flatMap(([a, b]): Wish[] => [["state", a], ["state", b], ["diff", a, b]]),
      ...states.map((n): Wish => [near(distance(n)) ? "state" : "facts", n]),
      ...changing.filter((pair) => !near(away(pair))).map(([a, b]): Wish => ["counts", a, b]),
    ];
  }

  /** Forgets what is far from the states on screen. */
  forget([before, after]: Pair): void {
    if (this.saved) return;
    for (const state of this.graphs.keys()) {
      if (Math.min(Math.abs(state - before), Math.abs(state - after)) <= FAR) continue;
      this.graphs.delete(state);
      this.texts.delete(state);
      this.asked.delete(`state,${state}`);
      this.asked.delete(`text,${state}`);
    }
  }

  private has([what, a, b]: Wish): boolean {
    switch (what) {
      case "state": return this.graphs.has(a);
      case "facts": return this.facts.has(a);
      case "text": return this.texts.has(a);
      case "diff": return this.diffs.has(key([a, b]));
      case "counts": return this.countsOf.has(key([a, b]));
      default: return this.lineages.has(key([a, b]));
    }
  }

  private take(message: ToPage, buffers: readonly unknown[]): void {
    if (message.type === "lost") {
      this.asked.delete(message.wish.join());
      this.onnews(message.text);
    } else if (this.put(unpacked(message, buffers) as ToPage)) this.onnews("");
  }

  private put(message: ToPage): boolean {
    switch (message.type) {
      case "state":
        this.graphs.set(message.state, message.graph);
        this.facts.set(message.state, message);
        return true;
      case "facts": this.facts.set(message.state, message); return true;
      case "text":
        if ("state" in message) this.texts.set(message.state, { text: message.text, lines: column(Uint32Array, message.lines) });
        return "state" in message;
      case "diff":
        this.diffs.set(key([message.before, message.after]), message.diff);
        this.countsOf.set(key([message.before, message.after]), message.counts);
        return true;
      case "counts": this.countsOf.set(key([message.before, message.after]), message.counts); return true;
      case "lineage": this.lineages.set(key([message.state, message.node]), message.places); return true;
      default: return false;
    }
  }

  dispose(): void {
    this.model.off("msg:custom", this.heard as (...args: never[]) => void);
  }
}

export function key(pair: Pair): string {
  return `${pair[0]}-${pair[1]}`;
}
