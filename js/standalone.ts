/** A saved page: the same views over a model that answers from the file. */
import { type SavedValues, type ToPython, type Traits } from "./model/messages.ts";
import { type Model } from "./model/model.ts";
import { SavedTrace } from "./model/saved_trace.ts";

type Callback = (...args: never[]) => void;
type Render = (context: { model: Model; el: HTMLElement }) => () => void;

/** The values in the file: those that hold JSON by their types, and numbers, texts and switches. */
type Values = Traits & SavedValues & { [name: string]: unknown };

/** The model of a saved page. There is no kernel: a trace's answers are in the file, and other messages have no effect. */
export class SavedModel implements Model {
  private readonly callbacks = new Map<string, Set<Callback>>();
  private readonly trace: SavedTrace | null;

  constructor(private readonly traits: Values) {
    this.trace = traits.saved_trace ? new SavedTrace(traits.saved_trace) : null;
  }

  get<Name extends keyof Traits>(name: Name): Traits[Name];
  get(name: string): unknown;
  get(name: string): unknown {
    return Reflect.get(this.traits, name);
  }

  /** Calls back at once, as the notebook's model does. */
  set(name: string, value: unknown): void {
    Reflect.set(this.traits, name, value);
    this.call(`change:${name}`);
  }

  on(name: string, callback: Callback): void {
    const known = this.callbacks.get(name);
    if (known) known.add(callback);
    else this.callbacks.set(name, new Set([callback]));
  }

  off(name: string, callback: Callback): void {
    this.callbacks.get(name)?.delete(callback);
  }

  save_changes(): void {
    // nothing outlives the page
  }

  send(message: ToPython): void {
    if (message.type === "want") void this.answer(message.items);
  }

  private async answer(wishes: readonly (string | number)[][]): Promise<void> {
    if (!this.trace) return;
    for (const wish of wishes) this.call("msg:custom", await this.trace.answer(wish), []);
  }

  private call(event: string, ...given: unknown[]): void {
    for (const callback of this.callbacks.get(event) ?? []) (callback as (...args: unknown[]) => void)(...given);
  }
}

/** The page that workbench/widgets/saved_page.py writes says so on its root; no notebook's output can. */
export function isSavedPage(): boolean {
  return typeof document !== "undefined" && document.documentElement.dataset.workbench === "saved";
}

export function openSavedPage(render: Render): void {
  const el = document.getElementById("view");
  const traits = document.getElementById("traits")?.textContent;
  if (!el || !traits) return;
  const model = new SavedModel(JSON.parse(traits) as Values);
  render({ model, el });
  if (model.get("_view") === "workbench") return;
  // A lone picture gets the window; the height chosen for a notebook's cell has no use here.
  const fill = () => {
    const controls = el.offsetHeight - Number(model.get("height"));
    model.set("height", Math.max(240, window.innerHeight - 2 * el.offsetTop - controls));
  };
  fill();
  window.addEventListener("resize", fill);
}
