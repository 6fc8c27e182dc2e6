/** What CompareView, PassStepper and Workbench share: their start, and their traits tied to one Compare. */
import { type Signal, signal } from "@preact/signals";
import { type Opened, open } from "../components/opened.ts";
import { type Shell } from "../components/shell.tsx";
import { decode } from "../graph/payload.ts";
import { compare as pictureOf } from "../graph/picture.ts";
import { readDiff } from "../graph/read_diff.ts";
import { equal } from "../model/equal.ts";
import { type Failure, type Sides } from "../model/messages.ts";
import { listen, type Model, watch, write } from "../model/model.ts";
import { fromSides, toSides } from "../model/sides.ts";
import { bindShown } from "../pane/bind_shown.ts";
import { countScenes } from "../pane/scenes.ts";
import { readOverlay } from "../render/overlay.ts";
import { Stage } from "../render/stage.ts";
import { Compare, type NameMarks } from "./compare.tsx";

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

export function bindCompare(
  model: Model,
  compare: Compare,
  shell: Shell,
  failed: (message: string | null) => void,
  /** Whether a chosen picture is on its way: Python's selection is of that one. */
  waits: () => boolean = () => false,
): () => void {
  const { stage } = compare;
  const bound = bindShown(model, stage);
  // The selection that the page has: another one in the model is a wish of Python's.
  let known: Sides | undefined;
  let taking = false;
  const wish = () => {
    const wanted = model.get("selection");
    return equal(wanted, known) ? undefined : wanted;
  };
  const load = () => {
    const wanted = wish();
    taking = wanted !== undefined;
    failed(null);
    try {
      const { before, after, diff } = {
        before: model.get("before"),
        after: model.get("after"),
        diff: model.get("diff"),
      };
      const picture = pictureOf(decode(before), decode(after), readDiff(diff, model.get("show_lowering") === true));
      const first = stage.scene === null;
      void stage.setPicture(picture, bound.collapsed(picture));
      taking = false;
      const chosen = fromSides(picture, wanted);
      if (chosen.length > 0 && first) stage.choose(chosen);
      else if (chosen.length > 0) stage.select(chosen);
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    }
    taking = false;
  };
  const select = () => {
    const wanted = wish();
    if (wanted !== undefined && !waits()) stage.choose(fromSides(stage.picture, wanted));
  };
  let selecting = 0;
  const titles = () => {
    compare.titles.value = model.get("titles") ?? [];
  };
  const mode = () => compare.setMode(model.get("mode") ?? "split", model.get("hops") ?? 1);
  const overlay = () => stage.setOverlay(readOverlay(model.get("overlay_state")));
  compare.onmode = (value, hops) => {
    write(model, "mode", value);
    write(model, "hops", hops);
  };
  const ends = [
    compare.legend.bind(model),
    stage.events.on("select", ({ nodes }) => {
      // What the stage carried over gives way to Python's wish.
      if (taking) return;
      known = toSides(stage.picture, nodes);
      write(model, "selection", known);
    }),
    stage.events.on("busy", (words) => shell.say(words ?? "", "layout")),
    watch(model, ["before", "after", "diff", "seq", "show_lowering"], load),
    watch(model, ["titles"], titles),
    watch(model, ["mode", "hops"], mode),
    watch(model, ["overlay_state"], overlay),
    watch(model, ["selection"], () => {
      // After a new picture of the same message: the selection is of that one.
      clearTimeout(selecting);
      selecting = window.setTimeout(select);
    }),
    listen(model, (message) => {
      if (message.type !== "show_side") return;
      const nodes = stage.picture.node[message.side === "before" ? 0 : 1];
      void stage.reveal(message.ids.map((id) => nodes[id] ?? -1).filter((u) => u >= 0));
    }),
  ];
  titles();
  mode();
  load();
  overlay();
  return () => {
    bound.end();
    clearTimeout(selecting);
    for (const end of ends) end();
  };
}
