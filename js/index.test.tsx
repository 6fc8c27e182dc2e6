import assert from "node:assert/strict";
import { test } from "node:test";
import { TestModel } from "./dom_testing.ts";
import view from "./index.ts";

/** Jupyter's model of a kernel that has ended. */
class DeadModel extends TestModel {
  override send(): void {
    throw new Error("Cannot send");
  }

  override save_changes(): void {
    throw new Error("Cannot send");
  }
}

test("a view that sends while it opens shows that its kernel has ended", () => {
  const end = view.render({ model: new DeadModel({ _view: "stepper" }), el: document.body });
  assert.ok(document.querySelector(".wb-kernel-ended"));
  end();
});
