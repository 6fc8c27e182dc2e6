import assert from "node:assert/strict";
import { test } from "node:test";
import { effect } from "@preact/signals";
import { drawn, halfStage, TestModel } from "../dom_testing.ts";
import { decode } from "../graph/payload.ts";
import { compare, readDiff } from "../graph/picture.ts";
import { payload } from "../graph/testing.ts";
import { type Place, type ToPage } from "../model/messages.ts";
import { type Callback, type ModelEvent, watch } from "../model/model.ts";
import { TraceChoice } from "../model/trace_choice.ts";
import { TraceStore, type Wish } from "../model/trace_store.ts";
import { Traits } from "../model/traits.ts";
import { TraceScreen } from "./trace_screen.ts";

const STEPS = ["A", "B", "C"].map((name, i) => ({ name, before: i, after: i + 1, status: "changed", depth: 0 }));
const place = (state: number, ids: number[]): Place => {
  return { state, step: state - 1, ids, ops: [], kernels: [], sure: "" };
};

type Heard = (message: ToPage, buffers: unknown[]) => void;

class TraceModel extends TestModel {
  readonly heard: Heard[] = [];

  override on(name: ModelEvent, callback: Callback): void {
    if (name === "msg:custom") this.heard.push(callback as Heard);
    else super.on(name, callback);
  }
}

/** A trace of four states of two nodes each, whose kernel answers when it is asked to. */
function show() {
  const model = new TraceModel({ listing: { steps: STEPS }, step: 0, shows: "step", pinned: [] } as never);
  const stage = halfStage();
  const choice = new TraceChoice(new Traits(model));
  const store = new TraceStore(model);
  const screen = new TraceScreen(model, stage, choice, store);
  screen.start((pair) =>
    watch(pair, ["seq"], () => {
      const graph = (name: "before" | "after") => decode(pair.get(name));
      void stage.setPicture(compare(graph("before"), graph("after"), readDiff(pair.get("diff"))));
    }),
  );
  const tell = async (message: ToPage) => {
    for (const callback of model.heard) callback(message, []);
    await drawn();
  };
  const graph = payload("one | two 0");
  const state = (n: number) => tell({ type: "state", state: n, nodes: 2, ops: 2, kernels: 0, graph });
  const diff = (before: number) =>
    tell({
      ...{ type: "diff", before, after: before + 1, counts: {} as never },
      diff: { before_mark: [0, 0], after_mark: [0, 0], pairs: [0, 0, 1, 1] },
    });
  const wishes = (name: string) =>
    model.sent
      .flatMap((message) => (message.type === "want" ? (message.items as Wish[]) : []))
      .filter((wish) => wish.join() === name).length;
  const lose = (wish: Wish) => tell({ type: "lost", wish: [...wish], text: "no kernel" });
  return { stage, choice, screen, tell, state, diff, wishes, lose };
}

/** Step 0 is on the screen. */
async function showFirst() {
  const page = show();
  await page.state(0);
  await page.state(1);
  await page.diff(0);
  return page;
}

test("a text that was lost is asked for again when its tab is opened", async () => {
  const { screen, lose, wishes } = await showFirst();
  screen.texts();
  await lose(["text", 0]);
  assert.equal(screen.lostText(), "no kernel");
  screen.retryTexts();
  assert.equal(screen.lostText(), "");
  assert.equal(wishes("text,0"), 2);
});

test("a lineage that was lost is asked for again when its node is selected", async () => {
  const { stage, lose, wishes } = await showFirst();
  stage.select([0]);
  await lose(["lineage", 1, 0]);
  stage.select([]);
  stage.select([0]);
  assert.equal(wishes("lineage,1,0"), 2);
});

test("a text under way is asked for once, though other answers come first", async () => {
  const { screen, state, wishes } = await showFirst();
  const end = effect(() => void screen.texts());
  for (const n of [2, 3]) await state(n);
  assert.equal(wishes("text,0"), 1);
  end();
});

test("until the graphs of a step are here, the screen waits", async () => {
  const { screen, choice, state, diff, lose } = await showFirst();
  assert.equal(screen.waiting.value, false);
  choice.go(1);
  await drawn();
  assert.equal(screen.waiting.value, true);
  await state(2);
  await diff(1);
  assert.equal(screen.waiting.value, false);
  assert.deepEqual(screen.shown.value, [1, 2]);
  choice.go(2);
  await drawn();
  await lose(["state", 3]);
  assert.equal(screen.waiting.value, false, "they will not come");
});

test("a stop of the history is forgotten when the user goes elsewhere", async () => {
  const { screen, stage, choice, state, diff } = await showFirst();
  screen.visit(place(3, [1]));
  await drawn();
  choice.go(0);
  await drawn();
  for (const n of [2, 3]) await state(n);
  await diff(2);
  choice.go(2);
  for (let i = 0; i < 3; i++) await drawn();
  assert.deepEqual(screen.shown.value, [2, 3]);
  assert.deepEqual(stage.selection, []);
});

test("a stop of the history is selected when its graphs come", async () => {
  const { screen, stage, state, diff } = await showFirst();
  screen.visit(place(3, [1]));
  for (const n of [2, 3]) await state(n);
  await diff(2);
  await drawn();
  assert.deepEqual(stage.selection, [1]);
});

test("the last history stays until that of the selected node is here", async () => {
  const { screen, stage, tell, lose } = await showFirst();
  const [first, second] = [[place(1, [0])], [place(1, [1])]];
  stage.select([0]);
  assert.equal(screen.history.value, null);
  await tell({ type: "lineage", state: 1, node: 0, places: first });
  assert.deepEqual(screen.history.value, first);
  stage.select([1]);
  assert.deepEqual(screen.history.value, first);
  await tell({ type: "lineage", state: 1, node: 1, places: second });
  assert.deepEqual(screen.history.value, second);
  stage.select([]);
  assert.equal(screen.history.value, null);
  stage.select([0]);
  await lose(["lineage", 1, 0]);
  assert.equal(screen.history.value, null, "not another node's");
});
