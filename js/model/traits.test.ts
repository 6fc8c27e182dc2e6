import assert from "node:assert/strict";
import { test } from "node:test";
import { effect } from "@preact/signals";
import { SavedModel } from "../standalone.ts";
import { Traits } from "./traits.ts";

const turn = () => new Promise((done) => setTimeout(done));

test("traits that change in one message change together", async () => {
  const model = new SavedModel({ step: 1, pinned: [0] });
  const traits = new Traits(model);
  const seen: unknown[] = [];
  effect(() => {
    seen.push([traits.get("step").value, traits.get("pinned").value]);
  });
  model.set("step", 2);
  model.set("pinned", [3]);
  await turn();
  assert.deepEqual(seen, [
    [1, [0]],
    [2, [3]],
  ]);
});

test("a disposed model's traits stay as they are", async () => {
  const model = new SavedModel({ step: 1 });
  const traits = new Traits(model);
  const step = traits.get("step");
  traits.dispose();
  model.set("step", 2);
  await turn();
  assert.equal(step.value, 1);
});
