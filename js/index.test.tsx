import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { TestModel } from "./dom_testing.ts";
import view from "./index.ts";
import { openSavedPage } from "./standalone.ts";

/** Jupyter's model of a kernel that has ended. */
class DeadModel extends TestModel {
  override send(): void {
    throw new Error("Cannot send");
  }

  override save_changes(): void {
    throw new Error("Cannot send");
  }
}

test("the layout worker of a saved page starts before its values are read", async () => {
  const { Worker } = globalThis;
  let [opened, before] = [0, 0];
  globalThis.Worker = class {
    constructor() {
      opened++;
    }
    terminate(): void {
      // it never ran
    }
  } as unknown as typeof Worker;
  document.body.innerHTML = `<main id="view"></main><script type="application/json" id="traits">{}</script>`;
  const saved = openSavedPage(() => {
    before = opened;
    return () => undefined;
  });
  assert.equal(opened, 1);
  await saved;
  assert.equal(before, 1);
  globalThis.Worker = Worker;
});

test("a view that sends while it opens shows that its kernel has ended", () => {
  const end = view.render({ model: new DeadModel({ _view: "stepper" }), el: document.body });
  assert.ok(document.querySelector(".wb-kernel-ended"));
  end();
});

test("a saved page has its values as JSON or packed", async () => {
  const json = JSON.stringify({ _view: "workbench", titles: ["a", "b"] });
  for (const text of [json, gzipSync(json).toString("base64")]) {
    document.body.innerHTML = `<main id="view"></main><script type="application/json" id="traits">${text}</script>`;
    let titles: readonly string[] | undefined;
    await openSavedPage(({ model }) => {
      titles = model.get("titles");
      return () => undefined;
    });
    assert.deepEqual(titles, ["a", "b"]);
  }
});
