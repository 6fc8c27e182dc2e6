/** One graph: the picture, a search box, an overlay's legend. */
import { decode, type Payload } from "../graph/payload.ts";
import { single } from "../graph/picture.ts";
import { readOverlay } from "../render/overlay.ts";
import { toSvg } from "../render/save.ts";
import { Stage } from "../render/stage.ts";
import { bindShown } from "./bind_shown.ts";
import { Brief } from "./brief.ts";
import { zoomButtons } from "./compare.ts";
import { h } from "./dom.ts";
import { keysCard } from "./keys.ts";
import { Legend } from "./legend.ts";
import { Scale } from "./scale.ts";
import { listen, numbers, watch, write, type Model } from "./model.ts";
import { Pane } from "./pane.ts";
import { probe } from "./probe.ts";
import { SearchBox } from "./search_box.ts";
import { Shell } from "./shell.ts";

export function graphView(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "graph-view");
  const stage = new Stage(shell.ruler);
  probe(shell.root, stage);
  const pane = new Pane(stage, shell.theme, { sides: 1, name: "", testid: "canvas", minimap: true });
  const search = new SearchBox(stage);
  const scale = new Scale();
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
    if (event.key === "/") search.focus();
    else if (event.key === "?") help();
    else if (event.key === "l") legend.toggle.click();
    else if (event.key === "Escape") search.clear();
    else return false;
    return true;
  };
  const panes = h("div", { class: "wb-panes" }, legend.element, h("div", { class: "wb-side" }, pane.element), new Brief(stage).element);
  const bar = h("div", { class: "wb-bar", role: "toolbar", "aria-label": "Graph" },
    legend.toggle, scale.element, shell.status, h("span", { class: "wb-space" }), search.element, zoomButtons(stage, shell, help, svg));
  shell.root.append(bar, panes);
  shell.onTheme((theme) => {
    pane.setTheme(theme);
    legend.setTheme(theme, model);
  });

  const height = () => { panes.style.height = `${Number(model.get("height")) || 520}px`; };
  const bound = bindShown(model, stage, legend);
  const load = () => {
    try {
      const picture = single(decode(model.get("graph") as Partial<Payload>));
      stage.setPicture(picture, bound.collapsed(picture)).catch((error: Error) => shell.say(error.message));
      shell.say(picture.nodeCount === 0 ? "No graph yet." : "");
    } catch (error) {
      shell.say(String((error as Error).message));
    }
  };
  const overlay = () => {
    stage.setOverlay(readOverlay(model.get("overlay_state")));
    scale.show(stage.look.overlay);
  };

  stage.events.on("select", ({ nodes, byHand }) => {
    if (byHand) model.send({ type: "select", ids: nodes, t: Date.now() });
    write(model, "selection", nodes);
  });
  stage.events.on("scene", () => scale.show(stage.look.overlay));
  stage.events.on("busy", (what) => shell.say(what ?? ""));

  const same = (a: readonly number[], b: readonly number[]) => a.length === b.length && a.every((v, i) => v === b[i]);
  const ends = [
    watch(model, ["graph"], load),
    watch(model, ["overlay_state"], overlay),
    watch(model, ["height"], height),
    watch(model, ["selection"], () => {
      const ids = numbers(model.get("selection"));
      if (!same(ids, stage.selection)) stage.select(ids, false);
    }),
    listen(model, (message) => {
      if (message.type === "show") void stage.reveal(numbers(message.ids));
      else if (message.type === "export") model.send({ type: "exported", id: message.id ?? null, svg: svg() });
    }),
  ];
  height();
  const chosen = numbers(model.get("selection"));
  load();
  overlay();
  if (chosen.length > 0) stage.select(chosen, false);
  return () => {
    bound.end();
    for (const end of ends) end();
    pane.dispose();
    stage.dispose();
    shell.dispose();
  };
}
