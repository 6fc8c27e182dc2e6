/** One graph. */

import { Hosted } from "../components/mount.tsx";
import { Scale } from "../components/scale.tsx";
import { Shell } from "../components/shell.tsx";
import { listen, type Model, watch } from "../model/model.ts";
import { Traits } from "../model/traits.ts";
import { Brief } from "../panels/brief.tsx";
import { GraphPanes, GraphTools, LegendButton, OneGraph } from "../panels/one_graph.tsx";
import { readOverlay } from "../render/overlay.ts";

const HEIGHT = 520;

export function heightOf(traits: Traits): number {
  return traits.get("height").value ?? HEIGHT;
}

export function graphView(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "graph-view");
  const traits = new Traits(model);
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
    traits.dispose();
    graph.end();
  };
}

function View({ graph, traits }: { graph: OneGraph; traits: Traits }) {
  return (
    <>
      <div class="wb-bar" role="toolbar" aria-label="Graph">
        <LegendButton graph={graph} />
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
