/** Two graphs and their difference. */
import { type FunctionComponent } from "preact";
import { Hosted } from "../components/mount.tsx";
import { open } from "../components/shell.tsx";
import { type Model } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { bindBoard } from "../panels/bind_board.ts";
import { Compare, CompareBar, ComparePanes, type NameMarks } from "../panels/compare.tsx";
import { heightOf } from "./graph_view.tsx";

interface Kind {
  name: string;
  nameMarks?: NameMarks;
  /** What is beneath the graphs. */
  Foot?: FunctionComponent<{ compare: Compare; traits: Traits }>;
}

export function compareView(model: Model, el: HTMLElement, { name, nameMarks, Foot }: Kind = { name: "compare-view" }) {
  const { shell, traits } = open(model, el, name);
  const compare = new Compare(shell, nameMarks);
  const View = () => (
    <>
      <CompareBar compare={compare} />
      <ComparePanes compare={compare} height={heightOf(traits)} />
      <Hosted element={shell.status} />
      {Foot && <Foot {...{ compare, traits }} />}
    </>
  );
  // The page is drawn while the worker arranges the graphs.
  shell.atEnd(bindBoard(model, compare));
  shell.render(<View />);
  return () => shell.dispose();
}
