import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { TestModel } from "./dom_testing.ts";
import { payload } from "./graph/testing.ts";
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

test("the layout worker of a saved page starts first, and has its question before the page around the graph is drawn", async () => {
  const { Worker } = globalThis;
  const did: string[] = [];
  const panes = () => `${document.querySelectorAll(".wb-panes").length} panes`;
  globalThis.Worker = class {
    constructor() {
      did.push(`starts, ${panes()}`);
    }
    postMessage(): void {
      did.push(`is asked, ${panes()}`);
    }
    terminate(): void {
      // it never ran
    }
  } as unknown as typeof Worker;
  const values = JSON.stringify({ _view: "graph", graph: payload("x:param | exp 0"), saved: true });
  document.body.innerHTML = `<main id="view"></main><script type="application/json" id="traits">${values}</script>`;
  let end: () => void = () => undefined;
  await openSavedPage((context) => {
    did.push("opens");
    end = view.render(context);
    return end;
  });
  assert.deepEqual([...did, panes()], ["starts, 0 panes", "opens", "is asked, 0 panes", "1 panes"]);
  end();
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
