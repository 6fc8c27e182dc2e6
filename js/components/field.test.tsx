import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { all, draw, drawn, enter, part, texts } from "../dom_testing.ts";
import { type FieldSpec } from "../model/messages.ts";
import { Field } from "./field.tsx";

const SPEC: FieldSpec = { name: "max_depth", type: "int", kind: "int", default: "256", required: false };
const sent: string[] = [];
beforeEach(() => void sent.splice(0));

async function show(spec: Partial<FieldSpec> = {}, value?: string, refused = "", place = document.body) {
  const all = { spec: { ...SPEC, ...spec }, value, refused };
  await draw(<Field {...all} testid="option" commit={(text) => sent.push(text)} />, place);
  return part<HTMLInputElement>("option", place);
}

test("a number field shows its default, and sends its text when it is committed", async () => {
  const control = await show();
  assert.equal(control.placeholder, "256");
  await enter("option", "4");
  assert.deepEqual(sent, []);
  await enter("option", "4", "change");
  assert.deepEqual(sent, ["4"]);
});

test("a new value does not overwrite a text that is being typed", async () => {
  const control = await show({}, "4");
  assert.equal(control.value, "4");
  await enter("option", "1");
  await show({}, "8");
  assert.equal(control.value, "1");
  control.dispatchEvent(new Event("blur"));
  await show({}, "8");
  assert.equal(control.value, "8");
});

test("a refused text stays beside the reason", async () => {
  const control = await show({ kind: "any" }, "1");
  await enter("option", "<b>x</b>");
  await enter("option", "<b>x</b>", "change");
  await show({ kind: "any" }, "1", "<b>x</b> is not a list");
  assert.equal(control.value, "<b>x</b>");
  assert.equal(control.getAttribute("aria-invalid"), "true");
  assert.deepEqual(texts("[data-testid=option-refused]"), ["<b>x</b> is not a list"]);
  assert.equal(all("b").length, 0);
});

test("True and False are a box with a default and a list without one", async () => {
  const box = await show({ kind: "bool", default: "True" });
  assert.equal(box.checked, true);
  box.click();
  await show({ kind: "bool", default: "" });
  await enter("option", "True", "change");
  assert.deepEqual(sent, ["False", "True"]);
});

test("the label of one root's field is not the label of another's", async () => {
  const places = [1, 2].map(() => document.body.appendChild(document.createElement("div")));
  for (const place of places) await show({ kind: "bool", default: "False" }, undefined, "", place);
  all("label span")[2]?.click();
  await drawn();
  const checked = all<HTMLInputElement>("input").map((box) => box.checked);
  assert.deepEqual(checked, [false, true]);
});
