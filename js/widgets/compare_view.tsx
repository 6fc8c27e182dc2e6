/** Two graphs and their difference. */
import { type FunctionComponent } from "preact";
import { Hosted } from "../components/mount.tsx";
import { type Model } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { bindCompare, openPair } from "../panels/bind_compare.ts";
import { type Compare, CompareBar, ComparePanes, type NameMarks } from "../panels/compare.tsx";
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
  const { shell, traits, compare } = openPair(model, el, name, nameMarks);
  const View = () => (
    <>
      <CompareBar compare={compare} />
      <ComparePanes compare={compare} height={heightOf(traits)} />
      <Hosted element={shell.status} />
      {Foot && <Foot {...{ compare, traits }} />}
    </>
  );
  shell.render(<View />);
  shell.atEnd(bindCompare(model, compare, shell, (message) => shell.say(message ?? "", "graph")));
  return () => shell.dispose();
}
