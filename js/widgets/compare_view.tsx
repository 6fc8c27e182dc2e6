/** Two graphs and their difference. */
import { Hosted } from "../components/mount.tsx";
import { Shell } from "../components/shell.tsx";
import { type Model } from "../model/model.ts";
import { Traits } from "../model/traits.ts";
import { bindCompare } from "../pane/bind_compare.ts";
import { countScenes } from "../pane/scenes.ts";
import { Compare, CompareBar, ComparePanes } from "../panels/compare.tsx";
import { Stage } from "../render/stage.ts";
import { heightOf } from "./graph_view.tsx";

export function compareView(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "compare-view");
  const traits = new Traits(model);
  const stage = new Stage(shell.ruler);
  countScenes(shell.root, stage);
  const compare = new Compare(shell, stage);
  shell.render(<View compare={compare} traits={traits} />);
  const unbind = bindCompare(model, compare, shell, (message) => shell.say(message ?? "", "graph"));
  return () => {
    unbind();
    traits.dispose();
    compare.dispose();
    stage.dispose();
    shell.dispose();
  };
}

function View({ compare, traits }: { compare: Compare; traits: Traits }) {
  return (
    <>
      <CompareBar compare={compare} />
      <ComparePanes compare={compare} height={heightOf(traits)} />
      <Hosted element={compare.shell.status} />
    </>
  );
}
