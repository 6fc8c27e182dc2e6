/** A saved page: the same views over a model that answers from the file. */
import { Arranger } from "./layout/client.ts";
import { type ToPython } from "./model/messages.ts";
import { Callbacks, type Model, type Values } from "./model/model.ts";
import { SavedTrace, unzipped } from "./model/saved_trace.ts";

type Render = (context: { model: Model; el: HTMLElement }) => () => void;

/** The model of a saved page. There is no kernel: a trace's answers are in the file, and other messages have no effect. */
export class SavedModel extends Callbacks implements Model {
  private readonly trace: SavedTrace | null;

  constructor(private readonly traits: Values) {
    super();
    this.trace = traits.saved_trace ? new SavedTrace(traits.saved_trace) : null;
  }

  get<N extends keyof Values>(name: N): Values[N] {
    return this.traits[name];
  }

  /** Calls back at once, as the notebook's model does. */
  set<N extends keyof Values>(name: N, value: Values[N]): void {
    this.traits[name] = value;
    this.call(`change:${name}`);
  }

  save_changes(): void {
    // nothing outlives the page
  }

  send(message: ToPython): void {
    if (message.type === "want") void this.answer(message.items);
  }

  private async answer(wishes: readonly (string | number)[][]): Promise<void> {
    if (!this.trace) return;
    for (const wish of wishes) this.call("msg:custom", await this.trace.answer(wish));
  }
}

/** The page that workbench/widgets/saved_page.py writes says so on its root; no notebook's output can. */
export function isSavedPage(): boolean {
  return typeof document !== "undefined" && document.documentElement.dataset.workbench === "saved";
}

export async function openSavedPage(render: Render): Promise<void> {
  const el = document.getElementById("view");
  const traits = document.getElementById("traits")?.textContent;
  if (!el || !traits) return;
  // A worker starts in a pause of this thread, and the next long one is after the first question.
  const early = new Arranger();
  const model = new SavedModel(JSON.parse(traits.startsWith("{") ? traits : await unzipped(traits)) as Values);
  render({ model, el });
  early.dispose();
  if (model.get("_view") === "workbench") return;
  // A lone picture gets the window; the height chosen for a notebook's cell has no use here.
  const fill = () => {
    const controls = el.offsetHeight - (model.get("height") ?? 0);
    model.set("height", Math.max(240, window.innerHeight - 2 * el.offsetTop - controls));
  };
  fill();
  window.addEventListener("resize", fill);
}
