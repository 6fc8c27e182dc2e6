/** A saved page: the same views over a model that remembers instead of asking a kernel. */
import { type Model } from "./views/model.ts";

type Callback = (...args: never[]) => void;
type Render = (context: { model: Model; el: HTMLElement }) => () => void;

/** What a view asks of its model, answered from the page itself. Messages to the kernel go nowhere: there is none. */
export class SavedModel implements Model {
  private readonly callbacks = new Map<string, Set<Callback>>();

  constructor(private readonly traits: Record<string, unknown>) {}

  get(name: string): unknown {
    return this.traits[name];
  }

  /** Tells at once, as the notebook's model does. */
  set(name: string, value: unknown): void {
    this.traits[name] = value;
    for (const callback of this.callbacks.get(`change:${name}`) ?? []) (callback as () => void)();
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

  send(): void {
    // nobody listens
  }
}

/** The page that workbench/widgets/saved_page.py writes says so on its root; no notebook's output can. */
export function isSavedPage(): boolean {
  return typeof document !== "undefined" && document.documentElement.dataset.workbench === "saved";
}

export function openSavedPage(render: Render): void {
  const el = document.getElementById("view")!;
  const model = new SavedModel(JSON.parse(document.getElementById("traits")!.textContent!) as Record<string, unknown>);
  render({ model, el });
  if (model.get("_view") === "workbench") return;
  // A lone picture gets the window; what a person chose for a notebook's cell says nothing here.
  const fill = () => {
    const controls = el.offsetHeight - Number(model.get("height"));
    model.set("height", Math.max(240, window.innerHeight - 2 * el.offsetTop - controls));
  };
  fill();
  window.addEventListener("resize", fill);
}
