/** The widget's model as anywidget hands it over, and the few things every view does with it. */

import { equal } from "./equal.ts";
import { type ToPage, type ToPython, type Traits } from "./messages.ts";

export type Send = (message: ToPython) => void;

export interface Model {
  get<Name extends keyof Traits>(name: Name): Traits[Name];
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, callback: (...args: never[]) => void): void;
  off(name: string, callback: (...args: never[]) => void): void;
  send(message: ToPython): void;
}

/** Calls back once however many of the traits changed in one message: before, after and diff belong together. */
export function watch(model: Model, names: string[], changed: () => void): () => void {
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
export function write(model: Model, name: string, value: unknown): void {
  if (equal(model.get(name), value)) return;
  model.set(name, value);
  model.save_changes();
}

export function listen(model: Model, heard: (message: ToPage) => void): () => void {
  const callback = ((message: ToPage) => heard(message)) as (...args: never[]) => void;
  model.on("msg:custom", callback);
  return () => model.off("msg:custom", callback);
}

export function numbers(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((v): v is number => Number.isInteger(v)) : [];
}
