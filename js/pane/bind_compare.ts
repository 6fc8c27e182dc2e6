/** The traits that CompareView, PassStepper and Workbench share, tied to one Compare. */
import { type Shell } from "../components/shell.tsx";
import { decode } from "../graph/payload.ts";
import { compare as pictureOf } from "../graph/picture.ts";
import { readDiff } from "../graph/read_diff.ts";
import { equal } from "../model/equal.ts";
import { listen, type Model, numbers, watch, write } from "../model/model.ts";
import { fromSides, toSides } from "../model/sides.ts";
import { type Compare, readMode } from "../panels/compare.tsx";
import { readOverlay } from "../render/overlay.ts";
import { bindShown } from "./bind_shown.ts";

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
  let known: unknown;
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
      const picture = pictureOf(decode(before), decode(after), readDiff(diff));
      const first = stage.scene === null;
      void stage.setPicture(picture, bound.collapsed(picture)).then(painted);
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
  const painted = () => {
    const seq = model.get("seq");
    const off = stage.events.on("painted", () => {
      off();
      // For those who wait for the picture in the page itself.
      shell.root.dataset.painted = String(seq ?? "");
    });
    stage.repaint();
  };
  const titles = () => {
    const given = model.get("titles");
    compare.titles.value = Array.isArray(given) ? given.map(String) : [];
  };
  const mode = () => compare.setMode(readMode(model.get("mode")), Number(model.get("hops") ?? 1));
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
    watch(model, ["before", "after", "diff", "seq"], load),
    watch(model, ["titles"], titles),
    watch(model, ["mode", "hops"], mode),
    watch(model, ["overlay_state"], overlay),
    watch(model, ["selection"], () => {
      // After a new picture of the same message: the selection is of that one.
      clearTimeout(selecting);
      selecting = window.setTimeout(select);
    }),
    listen(model, (message) => {
      if (message.type !== "show") return;
      const nodes = stage.picture.node["side" in message && message.side === "before" ? 0 : 1];
      void stage.reveal(
        numbers(message.ids)
          .map((id) => nodes[id] ?? -1)
          .filter((u) => u >= 0),
      );
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
