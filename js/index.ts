/**
 * The module that anywidget loads: `render` draws the view that the model asks for and returns its end. In a saved page
 * the same module starts itself, and under Node `svg` and `strokes` draw without a page.
 */
import { isSavedPage, openSavedPage } from "./standalone.ts";
import { compareView } from "./views/compare_view.ts";
import { fusion } from "./views/fusion.ts";
import { graphView } from "./views/graph_view.ts";
import { keepStill } from "./views/still_sender.ts";
import { type Model, whileConnected } from "./views/model.ts";
import { pattern } from "./views/pattern.ts";
import { predict } from "./views/predict.ts";
import { stepper } from "./views/stepper.ts";
import { tune } from "./views/tune.ts";
import { workbench } from "./views/workbench.ts";

const VIEWS: Record<string, (model: Model, el: HTMLElement) => () => void> = { graph: graphView, compare: compareView, fusion, pattern, predict, stepper, tune, workbench };

function render({ model: given, el }: { model: Model; el: HTMLElement }): () => void {
  const model = whileConnected(given);
  const view = VIEWS[String(model.get("_view"))] ?? graphView;
  const end = view(model, el);
  const root = el.querySelector<HTMLElement>(".wb");
  const endKeeping = root ? keepStill(model, root) : () => undefined;
  return () => {
    endKeeping();
    end();
  };
}

if (isSavedPage()) openSavedPage(render);

export { strokes, svg } from "./offline.ts";
export default { render };
