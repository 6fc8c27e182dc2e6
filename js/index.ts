/**
 * The module that anywidget loads: `render` draws the view that the model asks for and returns its end. In a saved page
 * the same module starts itself.
 */

// The bundle is in this order, in which it compresses best: the style sheet and the drawing come first.
import "./style.css";
import "./panels/inspector.tsx";
import "./render/memory/paint.ts";

import { showEnded } from "./components/strips.tsx";
import { stopClock, watchKernel, whileConnected } from "./model/kernel.ts";
import { type Model } from "./model/model.ts";
import { keepStill } from "./pane/still_sender.ts";
import { isSavedPage, openSavedPage } from "./standalone.ts";
import { compareView } from "./widgets/compare_view.tsx";
import { compilers } from "./widgets/compilers.tsx";
import { fusion } from "./widgets/fusion.tsx";
import { graphView } from "./widgets/graph_view.tsx";
import { memory } from "./widgets/memory.tsx";
import { pattern } from "./widgets/pattern.tsx";
import { predict } from "./widgets/predict.tsx";
import { schedule } from "./widgets/schedule.tsx";
import { stepper } from "./widgets/stepper.tsx";
import { tune } from "./widgets/tune.tsx";
import { workbench } from "./widgets/workbench.tsx";

const VIEWS: Record<string, (model: Model, el: HTMLElement) => () => void> = {
  graph: graphView,
  compare: compareView,
  compilers,
  fusion,
  memory,
  pattern,
  predict,
  schedule,
  stepper,
  tune,
  workbench,
};

function render({ model: given, el }: { model: Model; el: HTMLElement }): () => void {
  let root: HTMLElement | null = null;
  let over = false;
  const ended = () => {
    over = true;
    stopClock(given);
    if (root) showEnded(root);
  };
  const model = whileConnected(given, ended);
  const view = VIEWS[model.get("_view") ?? ""] ?? graphView;
  const end = view(model, el);
  root = el.querySelector<HTMLElement>(".wb");
  // A view that sends while it opens.
  if (over && root) showEnded(root);
  const ends = [watchKernel(given, ended), root ? keepStill(model, root) : () => undefined, end];
  return () => {
    for (const each of ends) each();
  };
}

if (isSavedPage()) void openSavedPage(render);

export default { render };
