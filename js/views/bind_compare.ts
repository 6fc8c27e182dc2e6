/** The traits that CompareView and Workbench share, tied to one Compare. */
import { type Payload } from "../graph/payload.ts";
import { compare as pictureOf } from "../graph/picture.ts";
import { decode } from "../graph/payload.ts";
import { readOverlay } from "../render/overlay.ts";
import { bindShown } from "./bind_shown.ts";
import { readDiff, type Compare, type Mode } from "./compare.ts";
import { listen, numbers, watch, write, type Model } from "./model.ts";
import { fromSides, toSides } from "./sides.ts";
import { type Shell } from "./shell.ts";

export function bindCompare(model: Model, compare: Compare, shell: Shell, failed: (message: string) => void): () => void {
  const { stage } = compare;
  const bound = bindShown(model, stage, compare.legend);
  let loading = false;
  const load = () => {
    loading = true;
    const picture = pictureOf(decode(model.get("before") as Partial<Payload>), decode(model.get("after") as Partial<Payload>), readDiff((model.get("diff") ?? {}) as Record<string, unknown>));
    stage.setPicture(picture, bound.collapsed(picture))
      .then(painted)
      .catch((error: Error) => failed(error.message));
    const chosen = fromSides(picture, model.get("selection"));
    if (chosen.length > 0) stage.select(chosen);
    loading = false;
  };
  const painted = () => {
    const seq = model.get("seq");
    const off = stage.events.on("painted", () => {
      off();
      // for those who wait for the picture in the page itself
      shell.root.dataset.painted = String(seq ?? "");
    });
    stage.repaint();
  };
  const guarded = () => {
    try {
      load();
    } catch (error) {
      failed((error as Error).message);
    }
  };
  const titles = () => compare.setTitles((model.get("titles") as string[] | undefined) ?? []);
  const mode = () => compare.setMode(((model.get("mode") as Mode) || "split"), Number(model.get("hops") ?? 1));
  const overlay = () => compare.setOverlay(readOverlay(model.get("overlay_state")));
  compare.onmode = (value, hops) => {
    write(model, "mode", value);
    write(model, "hops", hops);
  };
  shell.onTheme((theme) => compare.legend.setTheme(theme, model));
  const picked = stage.events.on("select", ({ nodes }) => {
    const ids = toSides(stage.picture, nodes);
    if (!loading || nodes.length > 0) write(model, "selection", ids);
  });
  const waiting = stage.events.on("busy", (what) => shell.say(what ?? ""));
  const ends = [
    picked, waiting,
    watch(model, ["before", "after", "diff", "seq"], guarded),
    watch(model, ["titles"], titles),
    watch(model, ["mode", "hops"], mode),
    watch(model, ["overlay_state"], overlay),
    watch(model, ["selection"], () => {
      const nodes = fromSides(stage.picture, model.get("selection"));
      if (JSON.stringify(toSides(stage.picture, stage.selection)) !== JSON.stringify(model.get("selection"))) stage.select(nodes);
    }),
    listen(model, (message) => {
      if (message.type !== "show") return;
      const side = "side" in message && message.side === "before" ? 0 : 1;
      void stage.reveal(numbers(message.ids).map((v) => stage.picture.node[side][v] ?? -1).filter((u) => u >= 0));
    }),
  ];
  titles();
  mode();
  guarded();
  overlay();
  return () => {
    bound.end();
    for (const end of ends) end();
  };
}
