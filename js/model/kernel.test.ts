import assert from "node:assert/strict";
import test from "node:test";
import { stopClock, watchKernel, whileConnected } from "./kernel.ts";
import { type Model } from "./model.ts";

type Slot = (sender: unknown, value: string) => void;

/** A signal of Lumino. */
class Reports {
  readonly slots = new Set<Slot>();
  connect(slot: Slot): void {
    this.slots.add(slot);
  }
  disconnect(slot: Slot): void {
    this.slots.delete(slot);
  }
  emit(value = ""): void {
    for (const slot of this.slots) slot(null, value);
  }
}

function failing(message: string): Model {
  const fail = () => {
    throw new Error(message);
  };
  const quiet = () => undefined as never;
  return { get: quiet, set: quiet, on: quiet, off: quiet, save_changes: fail, send: fail };
}

function watched(): { kernel: { statusChanged: Reports; disposed: Reports }; ends: () => number; stop: () => void } {
  const kernel = { statusChanged: new Reports(), disposed: new Reports() };
  let count = 0;
  const stop = watchKernel({ ...failing(""), widget_manager: { kernel } } as unknown as Model, () => {
    count++;
  });
  return { kernel, ends: () => count, stop };
}

test("sending to an ended kernel reports the end", () => {
  let count = 0;
  const model = whileConnected(failing("Cannot send"), () => {
    count++;
  });
  model.send({ type: "undo" });
  model.save_changes();
  assert.equal(count, 2);
});

test("every other error of sending stays", () => {
  const model = whileConnected(failing("not serializable"), () => assert.fail());
  assert.throws(() => model.send({ type: "undo" }), /not serializable/);
  assert.throws(() => model.save_changes(), /not serializable/);
});

test("a kernel that died, restarts or was shut down has ended", () => {
  for (const status of ["dead", "terminating", "restarting", "autorestarting", "shut down"]) {
    const { kernel, ends } = watched();
    if (status === "shut down") kernel.disposed.emit();
    else kernel.statusChanged.emit(status);
    assert.equal(ends(), 1, status);
  }
});

test("a busy or unreachable kernel has not ended", () => {
  const { kernel, ends } = watched();
  for (const status of ["busy", "idle", "unknown", "starting"]) kernel.statusChanged.emit(status);
  assert.equal(ends(), 0);
});

test("a view that is gone hears nothing", () => {
  const { kernel, ends, stop } = watched();
  stop();
  kernel.statusChanged.emit("dead");
  kernel.disposed.emit();
  assert.equal(ends(), 0);
});

test("a page without a kernel has no end", () => {
  watchKernel(failing(""), () => assert.fail())();
});

test("the clock of the work that is shown stops", () => {
  const traits: Record<string, unknown> = { state: { busy: { what: "Building" }, passes: [1] }, seq: 3 };
  const set = (name: string, value: unknown) => {
    traits[name] = value;
  };
  stopClock({ ...failing(""), get: (name: string) => traits[name] as never, set });
  assert.deepEqual(traits, { state: { busy: null, passes: [1] }, seq: 3 });
});
