import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, draw, part, send, sent } from "../dom_testing.ts";
import { type Effect, type Exploration, type State } from "../model/messages.ts";
import { Explore } from "./explore.tsx";

const tried = (name: string, status: string, kernels: number | null = null): Effect => ({
  ...{ name, status, kernels, message: `${name} <i>`, seconds: 0.001, level: 4, nodes: 0, ops: -2, counts: {} },
});
const FOUND: Exploration = {
  ...{ here: "at the start", index: -1, total: 5, running: true },
  rows: [tried("Same", "same"), tried("Broken", "error"), tried("Cut", "changed", -2), tried("Grow", "changed", 3)],
};

async function show(found: Exploration, state: State = {}): Promise<void> {
  await draw(<Explore state={state} found={found} send={send} />);
}

const rows = () => [...part("explore-rows").children].map((row) => row.textContent);

test("passes with the largest effect come first, and those without one on request", async () => {
  await show(FOUND);
  assert.deepEqual(rows(), ["Grow opt level 4+3−2·1 ms+ add", "Cut opt level 4−2−2·1 ms+ add", "Broken! Broken <i>"]);
  await click("explore-all");
  assert.equal(rows()[3], "Samechanges nothing");
  assert.equal(all("i").length, 0);
});

test("the work under way has its progress and can be cancelled", async () => {
  await show(FOUND);
  assert.equal(part("explore-words").textContent, "at the start: 2 of 4 tried, 1 to go would change it");
  assert.equal(part<HTMLButtonElement>("explore").disabled, true);
  part("explore-cancel").click();
  assert.deepEqual(sent, [{ type: "cancel" }]);
  await show({ ...FOUND, running: false });
  assert.equal(part("explore-cancel").hidden, true);
});

test("a pass is previewed and added where the passes were tried", async () => {
  await show({ ...FOUND, index: 1 }, { preview: "Cut" });
  assert.equal(part("preview-Cut").getAttribute("aria-pressed"), "true");
  part("preview-Grow").click();
  part("explore-add-Grow").click();
  assert.deepEqual(sent, [
    { type: "preview", name: "Grow" },
    { type: "add", name: "Grow", index: 2 },
  ]);
});

test("the place is that of the step shown", async () => {
  const passes = ["A", "B"].map((name) => ({
    ...{ name, text: name, enabled: true, locked: false, reason: "", doc: "" },
  }));
  await show({}, { passes, step: 1 });
  assert.equal(part<HTMLSelectElement>("explore-place").value, "1");
  part("explore").click();
  assert.deepEqual(sent, [{ type: "explore", index: 1 }]);
});
