import assert from "node:assert/strict";
import { test } from "node:test";
import { all, drawn, part, TestModel } from "../dom_testing.ts";
import { predict } from "./predict.tsx";

/** A question on the page, and what it asks of Python. */
function show(traits: object) {
  const model = new TestModel({ question: "How many?", unit: "kernels", choices: [], guess: "", ...traits });
  return { model, sent: model.sent, end: predict(model, document.body) };
}

test("a guess is typed; an empty one asks for the field", async () => {
  const { model, sent, end } = show({ shown: { stage: "asked" } });
  part("predict-check").click();
  assert.equal(document.activeElement, part("predict-guess"));
  assert.deepEqual(sent, []);
  part<HTMLInputElement>("predict-guess").value = " 5 ";
  part("predict-guess").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  assert.deepEqual(sent, [{ type: "reveal", guess: "5" }]);
  model.set("guess", "5");
  model.set("shown", { stage: "shown", said: "The answer: 3 kernels.", right: false, because: "<b>Two</b> merge." });
  await drawn();
  assert.equal(part("predict-said").textContent, "≠The answer: 3 kernels. <b>Two</b> merge.");
  assert.equal(all("[data-testid=predict-guess]").length, 0);
  end();
  assert.equal(all(".wb").length, 0);
});

test("a choice is clicked; after a failure the question stays", async () => {
  const { model, sent } = show({ choices: ["yes", "no"], shown: { stage: "asked" } });
  document.querySelectorAll<HTMLElement>("[data-testid=predict-choice]")[1]!.click();
  part("predict-show").click();
  assert.deepEqual(sent, [
    { type: "reveal", guess: "no" },
    { type: "reveal", guess: "" },
  ]);
  model.set("shown", { stage: "failed", said: "division by zero" });
  await drawn();
  assert.equal(part("predict-said").hidden, false);
  assert.equal(all("[data-testid=predict-choice]").length, 2);
});

test("a saved question has no field", () => {
  show({ saved: true, shown: { stage: "asked" } });
  assert.equal(all("button, input").length, 0);
});
