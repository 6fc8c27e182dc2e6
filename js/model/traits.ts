/** The traits of a widget's model as signals: a component that reads one is drawn again when it changes. */
import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Model, type Values, watch, write } from "./model.ts";

type Name = keyof Values;

export class Traits {
  private readonly signals = new Map<Name, Signal<unknown>>();
  private readonly ends: (() => void)[] = [];
  private readonly changed = new Set<Name>();

  constructor(readonly model: Model) {}

  /** The trait's value. Traits that come in one message change together. */
  get<N extends Name>(name: N): ReadonlySignal<Values[N]> {
    // a map has one type for all values; each name has its own here
    const known = this.signals.get(name) as Signal<Values[N]> | undefined;
    if (known) return known;
    const made = signal(this.model.get(name));
    this.signals.set(name, made);
    this.ends.push(
      watch(this.model, [name], () => {
        this.changed.add(name);
        queueMicrotask(() => this.apply());
      }),
    );
    return made;
  }

  set<N extends Name>(name: N, value: Values[N]): void {
    write(this.model, name, value);
  }

  dispose(): void {
    for (const end of this.ends) end();
  }

  private apply(): void {
    batch(() => {
      for (const name of this.changed) {
        const trait = this.signals.get(name);
        if (trait) trait.value = this.model.get(name);
      }
      this.changed.clear();
    });
  }
}
