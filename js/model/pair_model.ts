/** The model of a comparison whose graphs are chosen in the page: everything else is the widget's own. */
import { type ToPython } from "./messages.ts";
import { type Callback, Callbacks, type Model, type ModelEvent, type Values } from "./model.ts";

const OWN = ["before", "after", "diff", "titles", "seq"] as const;
type Own = Pick<Values, (typeof OWN)[number]>;

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
