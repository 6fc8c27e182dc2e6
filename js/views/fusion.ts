/** The FusionInspector: the graph with its kernels to be, the card that says why, and beneath it what if, branches, chains, the player. */
import { readNotes } from "../render/notes.ts";
import { Blocks } from "./blocks.ts";
import { button, h } from "./dom.ts";
import { icon } from "./icons.ts";
import { Inspector } from "./inspector.ts";
import { numbers, watch, write, type Model } from "./model.ts";
import { oneGraph } from "./one_graph.ts";
import { panel } from "./panel.ts";
import { Shell } from "./shell.ts";
import { type ToPython } from "./messages.ts";
import { BusyStrip, ErrorStrip } from "./strip.ts";
import { Tabs } from "./tabs.ts";

/** What tells a view from another that has the same parts. */
interface Kind {
  side: string;
  tabs: string[][];
  /** What keys ask of Python. */
  acts: Record<string, string>;
}

const FUSION: Kind = {
  side: "Why",
  tabs: [["edits", "What if"], ["branches", "Branches"], ["chains", "Constants"], ["player", "Decisions"], ["code", "Code"]],
  acts: { x: "cut", r: "region", R: "outward", Escape: "unregion", u: "undo", U: "redo", j: "on", k: "back" },
};

export function fusion(model: Model, el: HTMLElement, { side, tabs: names, acts }: Kind = FUSION): () => void {
  const shell = new Shell(el, "fusion");
  // A saved page has no kernel to ask, and the words of one tab: the one that was open.
  const saved = model.get("saved") === true;
  const kept = String(model.get("tab") || names[0][0]);
  shell.root.classList.toggle("wb-saved-page", saved);
  const send = (message: ToPython) => { if (!saved) model.send(message); };
  const act = (what: string) => send({ type: "act", what, arg: "" });
  const graph = oneGraph(model, shell, ({ key }) => {
    if (acts[key]) act(acts[key]);
    return key !== "Escape" && key in acts;
  });
  const { stage } = graph;
  const blocks = () => new Blocks(h("div", {}), stage, send);
  const parts = { head: blocks(), card: blocks(), tab: blocks() };
  const busy = new BusyStrip(send);
  const errors = new ErrorStrip();
  // One panel of words, moved into whichever tab is open: Python makes the open one only.
  const homes = names.map(([name, title]) => ({ name, title, element: h("div", {}, saved && name !== kept ? h("p", { class: "wb-empty" }, "Saved while another tab was open.") : null) }));
  const tabs = new Tabs(homes, -1);
  graph.pane.onedge = (edge) => {
    const { picture, itemOf, source, target } = stage.scene!.visible;
    // A drawn edge may stand for several, and for a way through tuples that are not drawn: the first one's ends.
    for (let e = 0; e < picture.edgeCount; e++) {
      if (itemOf[picture.source[e]] === source[edge] && itemOf[picture.target[e]] === target[edge]) {
        stage.select([picture.source[e], picture.target[e]]);
        return true;
      }
    }
    return false;
  };

  parts.card.element.dataset.testid = "card";
  parts.head.element.classList.add("wb-header");
  const body = h("div", { class: "wb-panel-body" }, parts.card.element, h("details", {}, h("summary", { class: "wb-dim" }, "The node"), new Inspector(stage).element));
  const bar = h("div", { class: "wb-bar", role: "toolbar", "aria-label": "Graph" }, graph.legend.toggle,
    button(icon("undo"), "Undo (u)", () => act("undo"), { "data-testid": "undo" }), button(icon("redo"), "Redo (U)", () => act("redo"), { "data-testid": "redo" }),
    shell.status, h("span", { class: "wb-space" }), graph.search, graph.zoom);
  const main = h("div", { class: "wb-main" }, h("div", { class: "wb-centre" }, bar, errors.element, graph.panes, busy.element),
    panel(side, "right", body, shell, () => shell.root.clientWidth < 700));
  shell.root.append(parts.head.element, main, tabs.element);

  const place = () => homes.find(({ name }) => name === tabs.current && (!saved || name === kept))?.element.append(parts.tab.element);
  tabs.onpick = (name) => {
    place();
    // The player is about all of the graph.
    if (name === "player") stage.fit();
    write(model, "tab", name);
  };
  // What the words speak of comes into view: once, so that a hand on the picture has the last word.
  let seen = "";
  const look = () => {
    const at = numbers(model.get("marks")?.at);
    if (!stage.scene || String(at) === seen) return;
    seen = String(at);
    stage.fitItems(stage.itemsOf(at));
  };
  stage.events.on("scene", look);
  const shown: [string, () => void][] = [
    ["height", () => { main.style.height = `${Math.max(240, Number(model.get("height")) || 640)}px`; }],
    ["tab", () => {
      const name = String(model.get("tab") ?? "");
      if (name !== tabs.current) tabs.toggle(name || tabs.current);
      place();
    }],
    ["panels", () => {
      const panels = model.get("panels") ?? {};
      for (const name of ["head", "card", "tab"] as const) parts[name].show(panels[name]);
    }],
    ["status", () => {
      const status = model.get("status") ?? {};
      busy.show(status.busy);
      errors.show(status.error);
    }],
    ["marks", () => {
      stage.setNotes(readNotes(model.get("marks")));
      look();
    }],
  ];
  graph.start();
  for (const [, show] of shown) show();
  const ends = shown.map(([name, show]) => watch(model, [name], show));
  return () => {
    for (const end of ends) end();
    busy.dispose();
    graph.end();
  };
}
