/** The traits of a widget's model as signals: a component that reads one is drawn again when it changes. */
import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Traits as Declared } from "./messages.ts";
import { type Model, watch, write } from "./model.ts";

export class Traits {
  private readonly signals = new Map<string, Signal<unknown>>();
  private readonly ends: (() => void)[] = [];
  private readonly changed = new Set<string>();

  constructor(readonly model: Model) {}

  /** The trait's value. Traits that come in one message change together. */
  get<Name extends keyof Declared>(name: Name): ReadonlySignal<Declared[Name]>;
  get(name: string): ReadonlySignal<unknown>;
  get(name: string): ReadonlySignal<unknown> {
    const known = this.signals.get(name);
    if (known) return known;
    const made = signal<unknown>(this.model.get(name));
    this.signals.set(name, made);
    this.ends.push(
      watch(this.model, [name], () => {
        this.changed.add(name);
        queueMicrotask(() => this.apply());
      }),
    );
    return made;
  }

  set(name: string, value: unknown): void {
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
