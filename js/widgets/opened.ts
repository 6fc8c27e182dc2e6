/** The start of every widget: its element, its traits, and the messages that a saved page cannot send. */
import { type Signal, signal } from "@preact/signals";
import { Shell } from "../components/shell.tsx";
import { type Failure } from "../model/messages.ts";
import { type Model, type Send } from "../model/model.ts";
import { Traits } from "../model/traits.ts";
import { countScenes } from "../pane/scenes.ts";
import { Compare, type NameMarks } from "../panels/compare.tsx";
import { Stage } from "../render/stage.ts";

interface Opened {
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

interface OpenedPair extends Opened {
  stage: Stage;
  compare: Compare;
  /** Why the graph can't be drawn. */
  undrawn: Signal<Failure | null>;
  problem: (text: string | null) => void;
}

/** A widget with two graphs. */
export function openPair(model: Model, el: HTMLElement, kind: string, nameMarks?: NameMarks): OpenedPair {
  const opened = open(model, el, kind);
  const { shell } = opened;
  const stage = new Stage(shell.ruler);
  countScenes(shell.root, stage);
  const compare = new Compare(shell, stage, nameMarks);
  shell.atEnd(() => {
    compare.dispose();
    stage.dispose();
  });
  const undrawn = signal<Failure | null>(null);
  const problem = (text: string | null) => {
    undrawn.value = text === null ? null : { title: "The graph can't be drawn", text, at: Date.now() };
  };
  return { ...opened, stage, compare, undrawn, problem };
}
