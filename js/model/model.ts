/** The widget's model as anywidget hands it over, and the few things every view does with it. */
import { type SavedValues, type ToPage, type ToPython, type Traits } from "./messages.ts";

export type Send = (message: ToPython) => void;

/** The values of a model by name: a widget has some of them. */
export type Values = Traits & SavedValues;
type Name = keyof Values;
export type ModelEvent = `change:${Name}` | "change" | "msg:custom";
export type Callback = (...args: never[]) => void;

export interface Model {
  get<N extends Name>(name: N): Values[N];
  set<N extends Name>(name: N, value: Values[N]): void;
  save_changes(): void;
  on(event: ModelEvent, callback: Callback): void;
  off(event: ModelEvent, callback: Callback): void;
  send(message: ToPython): void;
}

/** The callbacks of a model that the page makes. */
export class Callbacks {
  private readonly byEvent = new Map<ModelEvent, Set<Callback>>();

  on(event: ModelEvent, callback: Callback): void {
    this.byEvent.set(event, (this.byEvent.get(event) ?? new Set()).add(callback));
  }

  off(event: ModelEvent, callback: Callback): void {
    this.byEvent.get(event)?.delete(callback);
  }

  call(event: ModelEvent, ...given: unknown[]): void {
    // what an event gives is known to those who listen to it
    for (const callback of this.byEvent.get(event) ?? []) (callback as (...args: unknown[]) => void)(...given);
  }
}

const OWN = ["before", "after", "diff", "titles", "seq"] as const;
type Own = Pick<Values, (typeof OWN)[number]>;

/** The model of a comparison whose graphs are chosen in the page: everything else is the widget's own. */
export class PairModel implements Model {
  private own: Own = { before: {}, after: {}, diff: {}, titles: [], seq: 0 };
  private readonly callbacks = new Callbacks();

  constructor(private readonly model: Model) {}

  /** Puts two graphs on the screen; `seq` counts them for those who wait. */
  put(values: Omit<Own, "seq">): void {
    this.own = { ...values, seq: (this.own.seq ?? 0) + 1 };
    for (const name of OWN) this.callbacks.call(`change:${name}`);
  }

  setTitles(titles: readonly string[]): void {
    this.own = { ...this.own, titles: [...titles] };
    this.callbacks.call("change:titles");
  }

  get<N extends keyof Values>(name: N): Values[N] {
    const own: Values = this.own;
    return name in own ? own[name] : this.model.get(name);
  }

  set<N extends keyof Values>(name: N, value: Values[N]): void {
    this.model.set(name, value);
  }

  save_changes(): void {
    this.model.save_changes();
  }

  on(event: ModelEvent, callback: Callback): void {
    this.of(event).on(event, callback);
  }

  off(event: ModelEvent, callback: Callback): void {
    this.of(event).off(event, callback);
  }

  private of(event: ModelEvent): Callbacks | Model {
    return OWN.some((name) => event === `change:${name}`) ? this.callbacks : this.model;
  }

  send(message: ToPython): void {
    this.model.send(message);
  }
}

/** Calls back once however many of the traits changed in one message: before, after and diff belong together. */
export function watch(model: Model, names: readonly Name[], changed: () => void): () => void {
  let waiting = false;
  let ended = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      if (!ended) changed();
    });
  };
  for (const name of names) model.on(`change:${name}`, soon);
  return () => {
    ended = true;
    for (const name of names) model.off(`change:${name}`, soon);
  };
}

/** Sets a trait unless it already has that value: an echo would come back as a change. */
export function write<N extends Name>(model: Model, name: N, value: Values[N]): void {
  if (equal(model.get(name), value)) return;
  model.set(name, value);
  model.save_changes();
}

/** Calls `heard` with each message, its bytes in place. */
export function listen(model: Model, heard: (message: ToPage) => void): () => void {
  const callback = (message: ToPage, buffers: readonly unknown[] = []) => heard(unpacked(message, buffers));
  model.on("msg:custom", callback);
  return () => model.off("msg:custom", callback);
}

/** Whether two values are the same JSON. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [x, y] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return x.size === y.size && [...x].every(([key, value]) => y.has(key) && equal(value, y.get(key)));
}

/** Messages whose bytes came beside them: workbench/widgets/payload.py wrote `{buffer: n}` where each was. */
function unpacked<T>(message: T, buffers: readonly unknown[]): T {
  // Bytes take the place of `{buffer: n}`, as the message's type says already.
  return put(message, buffers) as T;
}

function put(value: unknown, buffers: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((item) => put(item, buffers));
  if (value === null || typeof value !== "object") return value;
  if ("buffer" in value && typeof value.buffer === "number") return buffers[value.buffer];
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, put(item, buffers)]));
}
