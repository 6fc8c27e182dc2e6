/**
 * The end of a model's kernel: its process died, it was restarted or shut down. Jupyter reports each within seconds; a busy
 * kernel, or a lost connection, is not an end.
 */
import { type Model } from "./model.ts";

/** A signal of Lumino, as Jupyter's objects have them. */
interface Reports<T> {
  connect(slot: (sender: unknown, value: T) => void): void;
  disconnect(slot: (sender: unknown, value: T) => void): void;
}

/** What JupyterLab and Notebook give besides the traits; other pages give less. */
interface WithKernel {
  widget_manager?: { kernel?: { statusChanged?: Reports<string>; disposed?: Reports<void> } | null };
}

const ENDS: readonly string[] = ["dead", "terminating", "restarting", "autorestarting"];

/** The message of the error that Jupyter throws when a model's kernel has ended or was restarted. */
const CANNOT_SEND = "Cannot send";

/** The model, whose `send` and `save_changes` report the kernel's end instead of failing: a timer of ours may call them then. */
export function whileConnected(model: Model, ended: () => void): Model {
  const unlessEnded = (act: () => void) => {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Error) || error.message !== CANNOT_SEND) throw error;
      ended();
    }
  };
  return {
    get: (name) => model.get(name),
    set: (name, value) => model.set(name, value),
    on: (event, callback) => model.on(event, callback),
    off: (event, callback) => model.off(event, callback),
    save_changes: () => unlessEnded(() => model.save_changes()),
    send: (message) => unlessEnded(() => model.send(message)),
  };
}

/** Calls `ended` when Jupyter reports the end of the kernel; returns a function that stops listening. */
export function watchKernel(model: Model, ended: () => void): () => void {
  const kernel = (model as WithKernel).widget_manager?.kernel;
  const changed = (_: unknown, status: string) => {
    if (ENDS.includes(status)) ended();
  };
  kernel?.statusChanged?.connect(changed);
  kernel?.disposed?.connect(ended);
  return () => {
    kernel?.statusChanged?.disconnect(changed);
    kernel?.disposed?.disconnect(ended);
  };
}

/** Ends the clock of the work that is shown: no answer comes. */
export function stopClock(model: Model): void {
  for (const name of ["state", "status"] as const) {
    const value = model.get(name);
    if (value && "busy" in value) model.set(name, { ...value, busy: null });
  }
}
