/** The start of every widget: its element, its traits, and the messages that a saved page cannot send. */

import { type Model, type Send } from "../model/model.ts";
import { Traits } from "../model/traits.ts";
import { Shell } from "./shell.tsx";

export interface Opened {
  shell: Shell;
  traits: Traits;
  saved: boolean;
  /** None in a saved page. */
  send: Send | undefined;
}

/** The widget ends with its shell. */
export function open(model: Model, el: HTMLElement, kind: string): Opened {
  const shell = new Shell(el, kind);
  const traits = new Traits(model);
  shell.atEnd(() => traits.dispose());
  const saved = traits.get("saved").peek() === true;
  return { shell, traits, saved, send: saved ? undefined : (message) => model.send(message) };
}
