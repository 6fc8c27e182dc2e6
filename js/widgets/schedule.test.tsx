import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, drawn, one, part, press, TestModel, texts } from "../dom_testing.ts";
import { type ScheduleStepState } from "../model/messages.ts";
import { schedule } from "./schedule.tsx";

globalThis.IntersectionObserver = class {
  observe() {}
  disconnect() {}
} as unknown as typeof IntersectionObserver;

const step = (text: string, state: number, more: Partial<ScheduleStepState> = {}): ScheduleStepState => ({
  text,
  names: {},
  state,
  pure: false,
  error: "",
  ...more,
});
const loop = (name: string, extent: string, depth = 0, bound = "") => ({
  depth,
  kind: "loop" as const,
  name,
  extent,
  bound,
  bytes: 2048,
});
const entry = {
  t: "in" as const,
  kind: "select" as const,
  name: "schedule-decision",
  label: "Decides",
  value: "?, 8",
  options: ["?, 8", "?, 16"],
};

function shown(at: number): TestModel {
  return new TestModel({
    headline: "relu for llvm",
    step: at,
    schedule: {
      steps: [
        step("l1, = sch.get_loops(block=b0)", 0, { pure: true }),
        step("l2, l3 = sch.split(loop=l1, factors=[None, 8], preserve_unit_iters=True)", 1, {
          names: { l1: "i" },
          entry,
        }),
        step("sch.unroll(<img src=x>)", 1, { error: "<b>no</b> such loop" }),
      ],
      states: [
        { script: "for i in range(64):\n    <img src=x>", rows: [loop("i", "64")], facts: [] },
        {
          script: "for i_0, i_1 in grid(8, 8):\n    <img src=x>",
          rows: [loop("i_0", "8"), loop("i_1", "8", 1, "vectorized")],
          facts: ["vector width: 8"],
        },
      ],
    },
    blocks: [],
  });
}

test("a step shows its loops, its text and its decision, without Python", async () => {
  const model = shown(-1);
  const end = schedule(model, document.body);
  await drawn();
  assert.deepEqual(texts(".wb-tree li > :first-child"), ["for i in range(64)"]);
  await click("step-1");
  assert.equal(model.get("step"), 1);
  assert.deepEqual(texts(".wb-tree-new > :first-child"), ["for i_0 in range(8)", "for i_1 in range(8)"]);
  assert.match(part("schedule-facts").textContent!, /vector width: 8/);
  assert.match(part("step-1").textContent!, /split loop=i, factors=\[None, 8\] → l2, l3$/);
  assert.equal(texts(".wb-text-count").join(), "−1 removed,+1 added");
  const field = part<HTMLSelectElement>("schedule-decision");
  field.value = "?, 16";
  field.dispatchEvent(new Event("change"));
  assert.deepEqual(model.sent, [{ type: "set", name: "schedule-decision", value: "?, 16" }]);
  end();
});

test("lookups are listed on request, and the arrows walk the steps", async () => {
  const model = shown(1);
  const end = schedule(model, document.body);
  await drawn();
  const hidden = () => all(".wb-pass").map((row) => row.hidden);
  assert.deepEqual(hidden(), [false, true, false, false]);
  part("lookups").click();
  await drawn();
  assert.deepEqual(hidden(), [false, false, false, false]);
  part("step-1").focus();
  await press("ArrowDown");
  assert.equal(model.get("step"), 2);
  await press("Home");
  assert.equal(model.get("step"), -1);
  end();
});

test("lines of the code and loops of the tree mark each other", async () => {
  const model = shown(1);
  const source = { form: "C", text: "<img src=x>\nfor (i_0)\n  store\n}", rows: [null, 0, 1, 0], note: "" };
  model.set("source", source);
  const end = schedule(model, document.body);
  await drawn();
  const lines = () => all(".wb-source li").map((line) => line.classList.contains("wb-chosen"));
  assert.equal(part("schedule-source").textContent, source.text.replaceAll("\n", ""));
  assert.equal(all("img").length, 0);
  const [outer, inner] = all<HTMLButtonElement>(".wb-tree button");
  outer!.click();
  await drawn();
  assert.deepEqual(lines(), [false, true, true, true]);
  inner!.click();
  await drawn();
  assert.deepEqual(lines(), [false, false, true, false]);
  all<HTMLButtonElement>(".wb-source button")[2]!.click();
  await drawn();
  assert.deepEqual(texts(".wb-tree .wb-chosen > :first-child"), ["for i_0 in range(8)"]);
  // the other face, and the other states, have TVMScript and no links
  part("schedule-script-face").click();
  await drawn();
  assert.equal(all(".wb-source, .wb-tree button").length, 0);
  part("schedule-source-face").click();
  await click("step--1");
  assert.equal(all(".wb-source, .wb-tree button, [data-testid=schedule-source-face]").length, 0);
  await click("step-1");
  // why there are no links
  model.set("source", { form: "LLVM IR", text: "define", rows: [], note: "it is <b>not</b> known" });
  await drawn();
  assert.equal(part("schedule-source-note").textContent, "it is <b>not</b> known.");
  assert.equal(all(".wb-source button, .wb-tree button").length, 0);
  end();
});

test("an error is in the place of its step, and names stay text", async () => {
  const end = schedule(shown(2), document.body);
  await drawn();
  assert.match(part("schedule-error").textContent!, /TVM refused this step<b>no<\/b> such loop/);
  assert.equal(all("img, .wb-error b").length, 0);
  assert.match(one(".wb-pass-error").textContent!, /failed/);
  end();
});
