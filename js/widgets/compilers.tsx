/** The CompilerView: the kernels of two builds of a model side by side, and beneath them a line for each difference. */
import { Blocks } from "../components/blocks.tsx";
import { type Reveal } from "../components/linked.tsx";
import { type Model } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { type Compare } from "../panels/compare.tsx";
import { compareView } from "./compare_view.tsx";

export const compilers = (model: Model, el: HTMLElement) =>
  compareView(model, el, {
    name: "compilers",
    nameMarks: (left, right) => [
      "same",
      "different",
      `only ${left}`,
      `only ${right}`,
      "several in one",
      "one in several",
    ],
    Foot,
  });

function Foot({ compare: { stage }, traits }: { compare: Compare; traits: Traits }) {
  const reveal: Reveal = (before, after = []) => {
    const nodes = [before, after].flatMap((ids, side) => ids.map((id) => stage.picture.node[side]?.[id] ?? -1));
    void stage.reveal([...new Set(nodes.filter((node) => node >= 0))]);
  };
  return (
    <div class="wb-compilers-list">
      <Blocks blocks={traits.get("blocks").value} send={undefined} reveal={reveal} />
    </div>
  );
}
