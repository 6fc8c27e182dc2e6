/** Two graphs and their difference. */
import { type FunctionComponent } from "preact";
import { Hosted } from "../components/mount.tsx";
import { open } from "../components/opened.ts";
import { type Model } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { countScenes } from "../pane/scenes.ts";
import { bindCompare } from "../panels/bind_compare.ts";
import { Compare, CompareBar, ComparePanes, type NameMarks } from "../panels/compare.tsx";
import { Stage } from "../render/stage.ts";
import { heightOf } from "./graph_view.tsx";

interface FootProps {
  compare: Compare;
  traits: Traits;
}

interface Kind {
  name: string;
  nameMarks?: NameMarks;
  /** What is beneath the graphs. */
  Foot?: FunctionComponent<FootProps>;
}

export function compareView(model: Model, el: HTMLElement, { name, nameMarks, Foot }: Kind = { name: "compare-view" }) {
  const { shell, traits } = open(model, el, name);
  const stage = new Stage(shell.ruler);
  countScenes(shell.root, stage);
  const compare = new Compare(shell, stage, nameMarks);
  const View = () => (
    <>
      <CompareBar compare={compare} />
      <ComparePanes compare={compare} height={heightOf(traits)} />
      <Hosted element={shell.status} />
      {Foot && <Foot {...{ compare, traits }} />}
    </>
  );
  shell.render(<View />);
  const unbind = bindCompare(model, compare, shell, (message) => shell.say(message ?? "", "graph"));
  return () => {
    unbind();
    compare.dispose();
    stage.dispose();
    shell.dispose();
  };
}
