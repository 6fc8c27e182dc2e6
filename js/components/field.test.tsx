import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { drawn } from "../dom_testing.ts";
import { type FieldSpec } from "../model/messages.ts";
import { Field } from "./field.tsx";
import { mount } from "./mount.tsx";

const SPEC: FieldSpec = { name: "max_depth", type: "int", kind: "int", default: "256", required: false };
let sent: string[] = [];
let place = document.body;

function show(spec: Partial<FieldSpec> = {}, value?: string, refused = ""): HTMLInputElement {
  mount(
    <Field
      spec={{ ...SPEC, ...spec }}
      value={value}
      refused={refused}
      testid="option"
      commit={(text) => sent.push(text)}
    />,
    place,
  );
  const control = document.querySelector<HTMLInputElement>("[data-testid=option]");
  assert.ok(control);
  return control;
}

function enter(control: HTMLInputElement, text: string): void {
  control.value = text;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

beforeEach(() => {
  sent = [];
  place = document.createElement("div");
  document.body.replaceChildren(place);
});

test("a number field shows its default, and sends its text when it is committed", () => {
  const control = show();
  assert.equal(control.placeholder, "256");
  enter(control, "4");
  assert.deepEqual(sent, []);
  control.dispatchEvent(new Event("change", { bubbles: true }));
  assert.deepEqual(sent, ["4"]);
});

test("a new value does not overwrite a text that is being typed", () => {
  const control = show({}, "4");
  assert.equal(control.value, "4");
  enter(control, "1");
  show({}, "8");
  assert.equal(control.value, "1");
  control.dispatchEvent(new Event("blur"));
  show({}, "8");
  assert.equal(control.value, "8");
});

test("a refused text stays beside the reason", async () => {
  const control = show({ kind: "any" }, "1");
  enter(control, "<b>x</b>");
  control.dispatchEvent(new Event("change", { bubbles: true }));
  show({ kind: "any" }, "1", "<b>x</b> is not a list");
  await drawn();
  assert.equal(control.value, "<b>x</b>");
  assert.equal(control.getAttribute("aria-invalid"), "true");
  const words = document.querySelector("[data-testid=option-refused]");
  assert.equal(words?.textContent, "<b>x</b> is not a list");
  assert.equal(words?.children.length, 0);
});

test("True and False are a box with a default and a list without one", () => {
  const box = show({ kind: "bool", default: "True" });
  assert.equal(box.checked, true);
  box.click();
  const list = show({ kind: "bool", default: "" });
  list.value = "True";
  list.dispatchEvent(new Event("change", { bubbles: true }));
  assert.deepEqual(sent, ["False", "True"]);
});

test("the label of one root's field is not the label of another's", () => {
  const controls = [1, 2].map(() => {
    place = document.body.appendChild(document.createElement("div"));
    show({ kind: "bool", default: "False" });
    return place.querySelector<HTMLInputElement>("input");
  });
  document.querySelectorAll("label")[1]?.querySelector("span")?.click();
  assert.deepEqual(
    controls.map((control) => control?.checked),
    [false, true],
  );
});
