/** One graph: the picture, a search box, an overlay's legend. */
import { decode, type Payload } from "../graph/payload.ts";
import { single } from "../graph/picture.ts";
import { initiallyCollapsed } from "../graph/collapse.ts";
import { readOverlay } from "../render/overlay.ts";
import { toSvg } from "../render/save.ts";
import { Stage } from "../render/stage.ts";
import { Brief } from "./brief.ts";
import { zoomButtons } from "./compare.ts";
import { h } from "./dom.ts";
import { keysCard } from "./keys.ts";
import { Legend } from "./legend.ts";
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
  const legend = new Legend();
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
    else if (event.key === "Escape") search.clear();
    else return false;
    return true;
  };
  const panes = h("div", { class: "wb-panes" }, h("div", { class: "wb-side" }, pane.element), new Brief(stage).element);
  const bar = h("div", { class: "wb-bar", role: "toolbar", "aria-label": "Graph" },
    legend.element, shell.status, h("span", { class: "wb-space" }), search.element, zoomButtons(stage, shell, help, svg));
  shell.root.append(bar, panes);
  shell.onTheme((theme) => pane.setTheme(theme));

  const height = () => { panes.style.height = `${Number(model.get("height")) || 520}px`; };
  const options = () => {
    const raw = (model.get("options") ?? {}) as Record<string, unknown>;
    return { showConstants: raw.show_constants === true, showTuples: raw.show_tuples === true };
  };
  const load = () => {
    stage.options = { ...stage.options, ...options() };
    stage.setEdges((model.get("options") as Record<string, unknown> | null)?.edge_color === "dtype" ? "dtype" : "diff");
    try {
      const picture = single(decode(model.get("graph") as Partial<Payload>));
      const wanted = numbers(model.get("collapsed"));
      const collapsed = wanted.length > 0 ? new Set(wanted) : initiallyCollapsed(picture, stage.options.showConstants);
      stage.setPicture(picture, collapsed).catch((error: Error) => shell.say(error.message));
      shell.say(picture.nodeCount === 0 ? "No graph yet." : "");
    } catch (error) {
      shell.say(String((error as Error).message));
    }
  };
  const overlay = () => {
    stage.setOverlay(readOverlay(model.get("overlay_state")));
    legend.show(stage.look.overlay);
  };
  const view = () => {
    const at = model.get("viewport") as { x?: number; y?: number; scale?: number } | null;
    if (at && typeof at.scale === "number") stage.setCamera({ x: at.x ?? 0, y: at.y ?? 0, scale: at.scale });
  };

  let saving = 0;
  let telling = false;
  stage.events.on("viewport", (camera) => {
    // Each frame of a drag would be a message to the kernel; the last one is enough.
    clearTimeout(saving);
    saving = window.setTimeout(() => {
      telling = true;
      write(model, "viewport", camera);
      telling = false;
    }, 250);
  });
  stage.events.on("select", ({ nodes, byHand }) => {
    if (byHand) model.send({ type: "select", ids: nodes, t: Date.now() });
    write(model, "selection", nodes);
  });
  let hovering = 0;
  stage.events.on("hover", (node) => {
    // A pointer crosses many nodes on its way to one.
    clearTimeout(hovering);
    hovering = window.setTimeout(() => write(model, "hovered", node), 60);
  });
  stage.events.on("collapsed", (set) => write(model, "collapsed", [...set].sort((a, b) => a - b)));
  stage.events.on("scene", () => legend.show(stage.look.overlay));
  stage.events.on("busy", (what) => shell.say(what ?? ""));

  const same = (a: readonly number[], b: readonly number[]) => a.length === b.length && a.every((v, i) => v === b[i]);
  const ends = [
    watch(model, ["graph", "options"], load),
    watch(model, ["overlay_state"], overlay),
    watch(model, ["height"], height),
    watch(model, ["selection"], () => {
      const ids = numbers(model.get("selection"));
      if (!same(ids, stage.selection)) stage.select(ids, false);
    }),
    watch(model, ["collapsed"], () => {
      const ids = numbers(model.get("collapsed"));
      if (!same(ids, [...stage.options.collapsed].sort((a, b) => a - b))) void stage.setOptions({ collapsed: new Set(ids) });
    }),
    watch(model, ["viewport"], () => {
      const at = model.get("viewport") as Record<string, number>;
      // What is told to Python is old where a glide has begun since: it must not end the glide.
      if (!telling && JSON.stringify(at) !== JSON.stringify(stage.camera)) view();
    }),
    listen(model, (message) => {
      if (message.type === "show") void stage.reveal(numbers(message.ids));
      else if (message.type === "export") model.send({ type: "exported", id: message.id ?? null, svg: svg() });
    }),
  ];
  height();
  load();
  overlay();
  view();
  const chosen = numbers(model.get("selection"));
  if (chosen.length > 0) stage.select(chosen, false);
  return () => {
    clearTimeout(saving);
    clearTimeout(hovering);
    for (const end of ends) end();
    pane.dispose();
    stage.dispose();
    shell.dispose();
  };
}
