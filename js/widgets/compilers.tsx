/** The CompilerView: the kernels of two builds of a model side by side, and beneath them a line for each difference. */
import { Blocks } from "../components/blocks.tsx";
import { type ToPython } from "../model/messages.ts";
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

function Foot({ compare, traits }: { compare: Compare; traits: Traits }) {
  return (
    <div class="wb-compilers-list">
      <Blocks blocks={traits.get("blocks").value} send={(message) => reveal(compare, message)} />
    </div>
  );
}

/** Shows the kernels of a line; its argument is their ids, `3,4|7`: those on the left, and those on the right. */
function reveal({ stage }: Compare, message: ToPython): void {
  if (message.type !== "act") return;
  const sides = message.arg.split("|").map((ids) => ids.split(",").filter(Boolean).map(Number));
  const nodes = sides.flatMap((ids, side) => ids.map((id) => stage.picture.node[side === 0 ? 0 : 1][id] ?? -1));
  void stage.reveal([...new Set(nodes.filter((node) => node >= 0))]);
}
