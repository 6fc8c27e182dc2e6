import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { all, click, draw, drawn, enter, part, press } from "../dom_testing.ts";
import { type StepState } from "../model/messages.ts";
import { TraceChoice } from "../model/trace_choice.ts";
import { type Facts } from "../model/trace_store.ts";
import { Traits } from "../model/traits.ts";
import { SavedModel } from "../standalone.ts";
import { StepList } from "./step_list.tsx";

const HOSTILE = "<img src=x onerror=alert(1)>";
const pass = (name: string, status: string, before: number, after: number, depth = 0): StepState => ({
  ...{ name, depth, status, seconds: 0.0012, detail: "", before, after },
  error: status === "error" ? `${HOSTILE} failed` : "",
});
const STEPS = [
  pass("SimplifyInference", "changed", 0, 2),
  pass("InferType", "same", 2, 2),
  pass("FuseOps", "changed", 0, 1, 1),
  pass(HOSTILE, "error", 2, 2),
];

const facts = signal<Facts | undefined>({ state: 0, nodes: 4, ops: 3, kernels: 3 });
const numbers = { facts: () => facts, counts: () => signal({ added: 1, merged: 2 }) };
const shown = () => STEPS.flatMap((_, i) => (part(`pass-${i}`).closest("li")?.hidden ? [] : [i]));

async function list(traits: Record<string, unknown> = {}): Promise<SavedModel> {
  const listed = { listing: { steps: STEPS }, checks: {}, pinned: [], hide_unchanged: true };
  const model = new SavedModel({ ...listed, step: 0, shows: "step", ...traits });
  await draw(<StepList choice={new TraceChoice(new Traits(model))} numbers={numbers} />);
  return model;
}

test("passes that changed nothing are left out until the box is unticked", async () => {
  const model = await list();
  assert.deepEqual(shown(), [0, 2, 3]);
  assert.match(document.body.textContent, /1 hidden/);
  await click("hide-unchanged");
  assert.equal(model.get("hide_unchanged"), false);
  assert.deepEqual(shown(), [0, 1, 2, 3]);
});

test("the filter leaves the names that contain it", async () => {
  await list();
  await enter("filter", "fuse");
  assert.deepEqual(shown(), [2]);
});

test("a click selects a step", async () => {
  const model = await list();
  await click("pass-2");
  assert.equal(model.get("step"), 2);
  assert.equal(part("pass-2").getAttribute("aria-current"), "step");
  assert.equal(part("pass-0").getAttribute("aria-current"), "false");
});

test("one tab stop, arrows inside", async () => {
  const model = await list();
  const stops = () =>
    [...part("pass-list").querySelectorAll<HTMLElement>("li:not([hidden]) button")].filter((b) => b.tabIndex === 0);
  assert.deepEqual(stops(), [part("pass-0")]);
  part("pass-0").focus();
  await press("ArrowDown", {}, part("pass-0"));
  assert.equal(model.get("step"), 2, "the hidden step is passed over");
  assert.equal(document.activeElement, part("pass-2"));
  assert.deepEqual(stops(), [part("pass-2")]);
  await press("End", {}, part("pass-2"));
  assert.equal(model.get("step"), 3);
  await press("ArrowDown", {}, part("pass-3"));
  assert.equal(model.get("step"), 3);
  await press("Home", {}, part("pass-3"));
  await press("ArrowUp", {}, part("pass-0"));
  assert.equal(model.get("step"), -1, "the whole trace is before the first step");
  await press("ArrowDown", {}, part("pass-0"));
  assert.equal(model.get("step"), 0);
});

test("a step is pinned by key, and by its button, which the arrows reach", async () => {
  const model = await list();
  await press("p", {}, part("pass-0"));
  assert.deepEqual(model.get("pinned"), [0]);
  part("pass-2").focus();
  await press("ArrowRight", {}, part("pass-2"));
  assert.equal(document.activeElement, part("pin-2"));
  await click("pin-2");
  assert.deepEqual(model.get("pinned"), [2, 0], "A is the earlier state");
  assert.equal(model.get("shows"), "pinned");
  assert.equal(part("pin-2").textContent, "A");
  assert.equal(part("pin-0").getAttribute("aria-pressed"), "true");
  await press("ArrowLeft", {}, part("pin-2"));
  assert.equal(document.activeElement, part("pass-2"));
  await press("p", {}, part("pass-2"));
  assert.deepEqual([model.get("pinned"), model.get("shows")], [[0], "step"]);
});

test("names are text, whole, and in the tooltip", async () => {
  await list();
  assert.equal(part("pass-3").textContent, HOSTILE);
  assert.match(part("pass-3").title, /<img src=x onerror=alert\(1\)> failed/);
  assert.equal(all("img").length, 0);
  assert.equal(part("pass-0").innerHTML, "Simplify<wbr>Inference");
});

test("changes, and a number that arrives later", async () => {
  facts.value = undefined;
  await list();
  const row = part("pass-0").closest("li");
  assert.equal(row?.querySelector(".wb-effect")?.textContent, "+12");
  assert.equal(row?.querySelector(".wb-step-kernels")?.textContent, "");
  facts.value = { state: 0, nodes: 4, ops: 3, kernels: 3 };
  await drawn();
  assert.equal(row?.querySelector(".wb-step-kernels")?.textContent, "3");
});

test("a pass that changed the outputs is not hidden", async () => {
  await list({ checks: { "1": { status: "different", text: "out 0 differs", first: null } } });
  assert.deepEqual(shown(), [0, 1, 2, 3]);
  assert.match(part("pass-1").closest("li")?.className ?? "", /wb-pass-error/);
  assert.match(part("pass-1").closest("li")?.textContent ?? "", /! other outputs/);
});

test("a trace without passes", async () => {
  await list({ listing: { steps: [] } });
  assert.match(document.body.textContent, /This trace has no passes/);
});
