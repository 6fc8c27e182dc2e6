/** The model of a comparison whose graphs are chosen in the page: everything else is the widget's own. */
import { type ToPython } from "./messages.ts";
import { type Model } from "./model.ts";

const OWN = ["before", "after", "diff", "titles", "seq"] as const;
type Own = Record<(typeof OWN)[number], unknown>;
type Callback = (...args: never[]) => void;

export class PairModel implements Model {
  private values: Own = { before: {}, after: {}, diff: {}, titles: [], seq: 0 };
  private readonly callbacks = new Map<string, Set<Callback>>();

  constructor(private readonly model: Model) {}

  /** Puts two graphs on the screen; `seq` counts them for those who wait. */
  put(values: Omit<Own, "seq">): void {
    this.values = { ...values, seq: Number(this.values.seq) + 1 };
    for (const name of OWN) this.call(name);
  }

  setTitles(titles: readonly string[]): void {
    this.values = { ...this.values, titles };
    this.call("titles");
  }

  private call(name: string): void {
    for (const callback of this.callbacks.get(`change:${name}`) ?? []) (callback as () => void)();
  }

  get(name: string): unknown {
    return name in this.values ? this.values[name as keyof Own] : this.model.get(name);
  }

  set(name: string, value: unknown): void {
    this.model.set(name, value);
  }

  save_changes(): void {
    this.model.save_changes();
  }

  on(name: string, callback: Callback): void {
    if (!this.own(name)) return this.model.on(name, callback);
    const known = this.callbacks.get(name);
    if (known) known.add(callback);
    else this.callbacks.set(name, new Set([callback]));
  }

  off(name: string, callback: Callback): void {
    if (this.own(name)) this.callbacks.get(name)?.delete(callback);
    else this.model.off(name, callback);
  }

  private own(name: string): boolean {
    return OWN.some((own) => name === `change:${own}`);
  }

  send(message: ToPython): void {
    this.model.send(message);
  }
}
