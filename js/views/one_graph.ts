/** One graph with what is always around it: search, legend, keys, zoom, the list of keys. GraphView and FusionInspector are made of it. */
import { decode, type Payload } from "../graph/payload.ts";
import { single } from "../graph/picture.ts";
import { toSvg } from "../render/save.ts";
import { Stage } from "../render/stage.ts";
import { bindShown } from "./bind_shown.ts";
import { zoomButtons } from "./compare.ts";
import { h } from "./dom.ts";
import { keysCard } from "./keys.ts";
import { Legend } from "./legend.ts";
import { numbers, watch, write, type Model } from "./model.ts";
import { Pane } from "./pane.ts";
import { probe } from "./probe.ts";
import { SearchBox } from "./search_box.ts";
import { type Shell } from "./shell.ts";

export interface OneGraph {
  stage: Stage;
  pane: Pane;
  legend: Legend;
  search: HTMLElement;
  zoom: HTMLElement;
  panes: HTMLElement;
  /** Reads what the model holds: once everything around the graph is there. */
  start(): void;
  end(): void;
}

/** `key` is asked first about keys that the pane has no use for; `after` stands over the foot of the graph. */
export function oneGraph(model: Model, shell: Shell, key: (event: KeyboardEvent) => boolean, after?: (stage: Stage) => HTMLElement): OneGraph {
  const stage = new Stage(shell.ruler);
  probe(shell.root, stage);
  const pane = new Pane(stage, shell.theme, { sides: 1, name: "", testid: "canvas", minimap: true });
  const search = new SearchBox(stage);
  const legend = new Legend(stage, shell.theme);
  const help = () => {
    const card = keysCard(() => pane.canvas.focus());
    pane.element.append(card);
    card.focus();
  };
  const svg = () => {
    const frame = pane.frame();
    return frame ? toSvg([{ frame, title: "" }]) : null;
  };
  search.onleave = () => pane.canvas.focus({ preventScroll: true });
  pane.onkey = (event) => {
    if (key(event)) return true;
    if (event.key === "/") search.focus();
    else if (event.key === "?") help();
    else if (event.key === "l") legend.toggle.click();
    else if (event.key === "Escape") search.clear();
    else return false;
    return true;
  };
  shell.onTheme((theme) => {
    pane.setTheme(theme);
    legend.setTheme(theme, model);
  });
  const bound = bindShown(model, stage, legend);
  // What is selected in a new picture is Python's to say where it knows better than the page what became of a node.
  let loading = false;
  const choose = () => {
    const ids = numbers(model.get("selection"));
    if (JSON.stringify(ids) !== JSON.stringify(stage.selection)) stage.select(ids);
  };
  const load = () => {
    loading = true;
    try {
      const picture = single(decode(model.get("graph") as Partial<Payload>));
      stage.setPicture(picture, bound.collapsed(picture)).catch((error: Error) => shell.say(error.message));
      shell.say(picture.nodeCount === 0 ? "No graph yet." : "");
    } catch (error) {
      shell.say(String((error as Error).message));
    }
    loading = false;
    choose();
  };
  stage.events.on("select", ({ nodes }) => {
    if (loading) return;
    write(model, "selection", nodes);
  });
  stage.events.on("busy", (what) => shell.say(what ?? ""));
  const ends = [watch(model, ["graph"], load), watch(model, ["selection"], choose)];
  return {
    stage, pane, legend, search: search.element, zoom: zoomButtons(stage, shell, help, svg),
    panes: h("div", { class: "wb-panes" }, legend.element, h("div", { class: "wb-side" }, pane.element), after?.(stage)),
    start: load,
    end() {
      bound.end();
      for (const end of ends) end();
      pane.dispose();
      stage.dispose();
      shell.dispose();
    },
  };
}
