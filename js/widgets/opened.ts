/** The start of every widget: its element, its traits, and the messages that a saved page cannot send. */
import { Shell } from "../components/shell.tsx";
import { type Model, type Send } from "../model/model.ts";
import { Traits } from "../model/traits.ts";

interface Opened {
  shell: Shell;
  traits: Traits;
  saved: boolean;
  /** None in a saved page. */
  send: Send | undefined;
}

export function open(model: Model, el: HTMLElement, kind: string): Opened {
  const shell = new Shell(el, kind);
  const traits = new Traits(model);
  shell.atEnd(() => traits.dispose());
  const saved = traits.get("saved").peek() === true;
  shell.root.classList.toggle("wb-saved-page", saved);
  return { shell, traits, saved, send: saved ? undefined : (message) => model.send(message) };
}
