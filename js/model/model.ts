/** The widget's model as anywidget hands it over, and the few things every view does with it. */

import { equal } from "./equal.ts";
import { type SavedValues, type ToPage, type ToPython, type Traits } from "./messages.ts";
import { unpacked } from "./packing.ts";

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
