import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { signal } from "@preact/signals";
import { mount } from "../components/mount.tsx";
import { all, click, drawn, part, send, sent } from "../dom_testing.ts";
import { type State } from "../model/messages.ts";
import { BuildReasons, StateFacts } from "./side_facts.tsx";

const state = signal<State>({});
const Page = () => (
  <>
    <StateFacts state={state.value} side={1} send={send} />
    <BuildReasons state={state.value} />
  </>
);
beforeEach(() => mount(<Page />, document.body));

const COUNTS = { after_kernels: 1, after_nodes: 1 };

async function show(next: State): Promise<void> {
  state.value = next;
  await drawn();
}

test("one kernel is one kernel", async () => {
  await show({ counts: COUNTS });
  assert.match(document.body.textContent, /^1 kernel +· 1 node/);
  await show({ counts: { after_kernels: 2, after_nodes: 1200 } });
  assert.match(document.body.textContent, /^2 kernels +· 1,200 nodes/);
});

test("the present row that failed is named beside the number", async () => {
  await show({ counts: COUNTS, failed_row: { config: "opt 3", status: "failed", message: "no target" } });
  assert.match(part("row-status").textContent, /! failed/);
  assert.equal(part("row-status").title, "failed: no target");
});

test("the peak of memory is beside the kernels, where it is known", async () => {
  await show({ counts: COUNTS, peak: "96 bytes at the peak" });
  assert.equal(part("peak").textContent, " · 96 bytes at the peak");
  await show({ counts: COUNTS, peak: "" });
  assert.equal(all("[data-testid=peak]").length, 0);
});

test("the build's kernels are shown where they differ, and the reasons are asked for once", async () => {
  await show({ counts: COUNTS, build: { kernels: 1 } });
  assert.equal(part("real-build").hidden, true);
  await show({ counts: COUNTS, build: { kernels: 3 } });
  assert.match(part("real-build").textContent, /build: 3 why\?/);
  assert.equal(part("build-why").hidden, true);
  await click("build-ask");
  assert.deepEqual(sent, [{ type: "build" }]);
  await show({ counts: COUNTS, build: { kernels: 3, listing: true } });
  assert.match(part("build-why").textContent, /being listed/);
  await show({ counts: COUNTS, build: { kernels: 3, why: ["The build runs <b>Fuse</b>."] } });
  assert.equal(part("build-why").hidden, false);
  assert.equal(part("build-why").textContent, "The build runs <b>Fuse</b>.");
  await show({ counts: COUNTS, build: { kernels: 3 } });
  assert.equal(part("build-why").hidden, true, "of another pipeline it would be another list");
});
