/** One graph: the picture, a search box, an overlay's legend. */
import { readOverlay } from "../render/overlay.ts";
import { Brief } from "./brief.ts";
import { h } from "./dom.ts";
import { listen, numbers, watch, type Model } from "./model.ts";
import { oneGraph } from "./one_graph.ts";
import { Scale } from "./scale.ts";
import { Shell } from "./shell.ts";

export function graphView(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "graph-view");
  const scale = new Scale();
  const graph = oneGraph(model, shell, () => false, (stage) => new Brief(stage).element);
  const { stage, panes } = graph;
  const bar = h("div", { class: "wb-bar", role: "toolbar", "aria-label": "Graph" },
    graph.legend.toggle, scale.element, shell.status, h("span", { class: "wb-space" }), graph.search, graph.zoom);
  shell.root.append(bar, panes);

  const height = () => { panes.style.height = `${Number(model.get("height")) || 520}px`; };
  const overlay = () => {
    stage.setOverlay(readOverlay(model.get("overlay_state")));
    scale.show(stage.look.overlay);
  };
  stage.events.on("scene", () => scale.show(stage.look.overlay));
  const ends = [
    watch(model, ["overlay_state"], overlay),
    watch(model, ["height"], height),
    listen(model, (message) => {
      if (message.type === "show") void stage.reveal(numbers(message.ids));
    }),
  ];
  height();
  graph.start();
  overlay();
  return () => {
    for (const end of ends) end();
    graph.end();
  };
}
