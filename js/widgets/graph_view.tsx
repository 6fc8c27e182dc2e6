/** One graph. */
import { LegendToggle } from "../components/legend.tsx";
import { Hosted } from "../components/mount.tsx";
import { Scale } from "../components/scale.tsx";
import { SearchBox } from "../components/search_box.tsx";
import { open } from "../components/shell.tsx";
import { ZoomButtons } from "../components/zoom_buttons.tsx";
import { type Model } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { bindBoard } from "../panels/bind_board.ts";
import { Brief } from "../panels/brief.tsx";
import { GraphBoard, GraphPanes } from "../panels/graph_board.tsx";

const HEIGHT = 520;

export function heightOf(traits: Traits): number {
  return traits.get("height").value ?? HEIGHT;
}

export function graphView(model: Model, el: HTMLElement): () => void {
  const { shell, traits } = open(model, el, "graph-view");
  const board = new GraphBoard(shell);
  const View = () => (
    <>
      <div class="wb-bar" role="toolbar" aria-label="Graph">
        <LegendToggle legend={board.legend} />
        <Scale stage={board.stage} />
        <Hosted element={shell.status} />
        <span class="wb-space" />
        <SearchBox search={board.search} />
        <ZoomButtons view={board} />
      </div>
      <GraphPanes board={board} height={heightOf(traits)}>
        <Brief stage={board.stage} />
      </GraphPanes>
    </>
  );
  // The page is drawn while the worker arranges the graph.
  shell.atEnd(bindBoard(model, board));
  shell.render(<View />);
  return () => shell.dispose();
}
