/** The FusionInspector: the graph with its future kernels, the card with the reasons, and beneath it edits, branches, chains, the player. */
import { computed, effect } from "@preact/signals";
import { Blocks } from "../components/blocks.tsx";
import { UndoRedo } from "../components/button.tsx";
import { LegendToggle } from "../components/legend.tsx";
import { linkedNodes } from "../components/linked.tsx";
import { Hosted } from "../components/mount.tsx";
import { Main, Panel } from "../components/panel.tsx";
import { SearchBox } from "../components/search_box.tsx";
import { open } from "../components/shell.tsx";
import { BusyStrip, ErrorStrip } from "../components/strips.tsx";
import { Tabs } from "../components/tabs.tsx";
import { ZoomButtons } from "../components/zoom_buttons.tsx";
import { type Model } from "../model/model.ts";
import { bindBoard } from "../panels/bind_board.ts";
import { GraphBoard, GraphPanes } from "../panels/graph_board.tsx";
import { Inspector } from "../panels/inspector.tsx";
import { readNotes } from "../render/look.ts";
import { type Stage } from "../render/stage.ts";

/** The differences between the two inspectors. */
interface Kind {
  side: string;
  tabs: readonly { name: string; title: string }[];
  /** Keys, and the actions of Python that they do. */
  acts: readonly (readonly [does: string, acts: Readonly<Record<string, string>>])[];
}

export const UNDO = ["undo, redo", { u: "undo", U: "redo" }] as const;

const FUSION: Kind = {
  side: "Why",
  tabs: [
    { name: "edits", title: "What if" },
    { name: "costs", title: "Costs" },
    { name: "branches", title: "Branches" },
    { name: "chains", title: "Constants" },
    { name: "player", title: "Decisions" },
    { name: "code", title: "Code" },
  ],
  acts: [
    ["cut the boundary", { x: "cut" }],
    ["shade the region, step outward", { r: "region", R: "outward" }],
    ["leave the region", { Escape: "unregion" }],
    UNDO,
    ["next, previous decision", { j: "on", k: "back" }],
  ],
};

export function fusion(model: Model, el: HTMLElement, { side, tabs, acts }: Kind = FUSION): () => void {
  const { shell, traits, saved, send } = open(model, el, "fusion");
  const act = (what: string) => send?.({ type: "act", what, arg: "" });
  const graph = new GraphBoard(shell);
  const doing = ([key, what]: [string, string]) => {
    const does = () => {
      act(what);
      // Escape leaves the search too.
      return key !== "Escape";
    };
    return [key, does];
  };
  if (!saved)
    graph.keys = acts.map(([does, whats]) => ({ does, act: Object.fromEntries(Object.entries(whats).map(doing)) }));
  const { stage } = graph;
  for (const pane of graph.panes.peek()) pane.onedge = (edge) => selectEdge(stage, edge);
  const panels = computed(() => traits.get("panels").value ?? {});
  const status = computed(() => traits.get("status").value ?? {});
  const tab = computed(() => traits.get("tab").value ?? "");
  // A saved page has the words of one tab: the one that was open.
  const kept = tab.peek() || tabs[0]?.name;
  const blocks = { send, reveal: (nodes: number[]) => void stage.reveal(nodes) };

  const pick = (name: string) => {
    // The player is about all of the graph.
    if (name === "player") stage.fit();
    traits.set("tab", name);
  };
  const content = (name: string) =>
    saved && name !== kept ? (
      <p class="wb-empty">Saved while another tab was open.</p>
    ) : (
      name === tab.value && <Blocks blocks={panels.value.tab} {...blocks} />
    );
  const Page = () => (
    <>
      <Blocks blocks={panels.value.head} class="wb-header" {...blocks} />
      <Main height={Math.max(240, traits.get("height").value ?? 640)}>
        <div class="wb-centre">
          <div class="wb-bar" role="toolbar" aria-label="Graph">
            <LegendToggle legend={graph.legend} />
            <UndoRedo act={act} disabled={saved} />
            <Hosted element={shell.status} />
            <span class="wb-space" />
            <SearchBox search={graph.search} />
            <ZoomButtons view={graph} />
          </div>
          <ErrorStrip error={status.value.error} />
          <GraphPanes board={graph} />
        </div>
        <Panel name={side} side="right" startsOpen={shell.hasRoom(700)}>
          <div class="wb-panel-body">
            <Blocks blocks={panels.value.card} testid="card" {...blocks} />
            <details>
              <summary class="wb-dim">The node</summary>
              <Inspector stage={stage} />
            </details>
          </div>
        </Panel>
      </Main>
      <Tabs
        name="fusion"
        open={tab.value}
        onPick={pick}
        tabs={tabs.map((each) => ({ ...each, content: content(each.name) }))}
      >
        <BusyStrip busy={status.value.busy} send={send} />
      </Tabs>
    </>
  );
  shell.render(<Page />);
  shell.atEnd(bindBoard(model, graph));
  const marks = computed(() => traits.get("marks").value);
  const named = computed(() => {
    const { head, card, tab: opened } = panels.value;
    return linkedNodes([...(head ?? []), ...(card ?? []), ...((tab.value && opened) || [])]);
  });
  shell.atEnd(effect(() => stage.setNotes(readNotes(marks.value, named.value))));
  shell.atEnd(showMarked(stage, () => marks.value?.at ?? []));
  return () => shell.dispose();
}

/** Nodes that the words are about come into view, once: afterwards a hand on the picture decides. */
function showMarked(stage: Stage, marked: () => number[]): () => void {
  let seen: number[] = [];
  const look = () => {
    const at = marked();
    const same = at.length === seen.length && at.every((node, i) => node === seen[i]);
    if (!stage.scene || same) return;
    seen = at;
    stage.bringIntoView(stage.itemsOf(at));
  };
  const ends = [stage.events.on("scene", look), effect(look)];
  return () => {
    for (const end of ends) end();
  };
}

/** Select the ends of a drawn edge. It may be several edges, and a path through tuples that are not drawn: the first one counts. */
function selectEdge(stage: Stage, edge: number): boolean {
  if (!stage.scene) return false;
  const { picture, itemOf, source, target } = stage.scene.visible;
  for (let e = 0; e < picture.edgeCount; e++) {
    const [from, to] = [picture.source[e] ?? -1, picture.target[e] ?? -1];
    if (itemOf[from] !== source[edge] || itemOf[to] !== target[edge]) continue;
    stage.select([from, to]);
    return true;
  }
  return false;
}
