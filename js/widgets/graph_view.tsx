/** One graph. */

import { LegendToggle } from "../components/legend.tsx";
import { Hosted } from "../components/mount.tsx";
import { open } from "../components/opened.ts";
import { Scale } from "../components/scale.tsx";
import { listen, type Model, watch } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { Brief } from "../panels/brief.tsx";
import { GraphPanes, GraphTools, OneGraph } from "../panels/one_graph.tsx";
import { readOverlay } from "../render/overlay.ts";

const HEIGHT = 520;

export function heightOf(traits: Traits): number {
  return traits.get("height").value ?? HEIGHT;
}

export function graphView(model: Model, el: HTMLElement): () => void {
  const { shell, traits } = open(model, el, "graph-view");
  const graph = new OneGraph(model, shell);
  const overlay = () => graph.stage.setOverlay(readOverlay(model.get("overlay_state")));
  const ends = [
    watch(model, ["overlay_state"], overlay),
    listen(model, (message) => {
      if (message.type === "show") void graph.stage.reveal(message.ids);
    }),
  ];
  shell.render(<View graph={graph} traits={traits} />);
  graph.load();
  overlay();
  return () => {
    for (const end of ends) end();
    graph.end();
  };
}

function View({ graph, traits }: { graph: OneGraph; traits: Traits }) {
  return (
    <>
      <div class="wb-bar" role="toolbar" aria-label="Graph">
        <LegendToggle legend={graph.legend} />
        <Scale stage={graph.stage} />
        <Hosted element={graph.shell.status} />
        <span class="wb-space" />
        <GraphTools graph={graph} />
      </div>
      <GraphPanes graph={graph} height={heightOf(traits)}>
        <Brief stage={graph.stage} />
      </GraphPanes>
    </>
  );
}
