import assert from "node:assert/strict";
import { test } from "node:test";
import { Shell } from "../components/shell.tsx";
import { drawn, TestModel } from "../dom_testing.ts";
import { payload } from "../graph/testing.ts";
import { type Values } from "../model/model.ts";
import { bindBoard } from "./bind_board.ts";
import { Compare } from "./compare.tsx";
import { GraphBoard } from "./graph_board.tsx";

/** `kept` nodes of one graph that are in the other too. */
const pair = (nodes: number, kept: number) => {
  const graph = payload(Array.from({ length: nodes }, (_, i) => ({ label: `op${i}`, inputs: i > 0 ? [i - 1] : [] })));
  const mark = Array.from({ length: nodes }, (_, i) => (i < kept ? 0 : 1));
  const pairs = Array.from({ length: 2 * kept }, (_, i) => i >> 1);
  return { before: graph, after: graph, diff: { before_mark: mark, after_mark: mark, pairs } };
};
/** One without a node of the other. */
const other = () => {
  const graph = payload(["x", "y", "z"].map((label) => ({ label, type: "Tensor[(3,), int8]" })));
  return {
    before: graph,
    after: graph,
    diff: { before_mark: [0, 0, 0], after_mark: [0, 0, 0], pairs: [0, 0, 1, 1, 2, 2] },
  };
};

function show(traits: object, waits?: () => boolean) {
  const model = new TestModel({ ...pair(3, 3), ...traits } as never);
  const shell = new Shell(document.body, "compare");
  const compare = new Compare(shell);
  const { stage } = compare;
  const failures: (string | null)[] = [];
  const end = bindBoard(model, compare, (message) => failures.push(message), waits);
  const put = async (values: Values) => {
    model.put(values);
    await drawn();
    await drawn();
  };
  return { model, stage, failures, put, end };
}

test("a selection that the new picture does not have is cleared, and its numbers select nothing else", async () => {
  const { model, stage, put } = show({ selection: { before: [1], after: [1] } });
  await drawn();
  assert.deepEqual(stage.selection, [1], "Python's first selection");
  stage.select([2]);
  assert.deepEqual(model.get("selection"), { before: [2], after: [2] });
  await put(other());
  assert.deepEqual(stage.selection, []);
  assert.deepEqual(model.get("selection"), { before: [], after: [] });
});

test("Python gets no selection that the page guessed", async () => {
  const { model, stage, put } = show({ selection: {} });
  await new Promise((done) => stage.events.on("scene", done));
  stage.select([2]);
  const graph = payload(["op0", "new", "op2"].map((label, i) => ({ label, inputs: i > 0 ? [i - 1] : [] })));
  await put({ ...pair(3, 3), before: graph, after: graph });
  assert.deepEqual(model.get("selection"), { before: [], after: [] });
});

test("a selection that Python sets with a picture is of that picture, in whichever order they come", async () => {
  const { model, stage, put } = show({ selection: {} });
  stage.select([2]);
  await put({ selection: { before: [1], after: [1] }, ...other() });
  assert.deepEqual(stage.selection, [1]);
  await put({ ...pair(3, 3), selection: { before: [0], after: [] } });
  assert.equal(stage.picture.id[0][stage.selection[0] ?? -1], 0);
  assert.deepEqual(model.get("selection"), { before: [0], after: [0] });
});

test("a selection for a picture that is on its way waits for it", async () => {
  let waiting = true;
  const { stage, put } = show({ selection: {} }, () => waiting);
  await put({ selection: { before: [1], after: [1] } });
  assert.deepEqual(stage.selection, []);
  waiting = false;
  await put(other());
  assert.deepEqual(stage.selection, [1]);
});

test("what Python selects in the picture on the screen is selected", async () => {
  const { stage, put } = show({ selection: {} });
  await put({ selection: { before: [2], after: [] } });
  assert.deepEqual(stage.selection, [2]);
});

test("each picture clears the failure of the one before", async () => {
  const { failures, put, end } = show({});
  failures.length = 0;
  await put({ diff: { before_mark: "no column" } });
  assert.equal(failures.length, 2);
  assert.equal(failures[0], null);
  assert.ok(failures[1]);
  await put(other());
  assert.equal(failures.at(-1), null);
  end();
});

test("a selection of one graph is Python's again after a picture in which the nodes have other numbers", async () => {
  const graph = (...labels: string[]) => payload(labels.map((label) => ({ label })));
  const model = new TestModel({ graph: graph("x", "y", "z"), selection: [] } as never);
  const board = new GraphBoard(new Shell(document.body, "graph"));
  const { stage } = board;
  const end = bindBoard(model, board);
  await new Promise((done) => stage.events.on("scene", done));
  stage.select([2]);
  assert.deepEqual(model.get("selection"), [2]);
  for (const values of [{ selection: [1], graph: graph("y", "z", "new") }, { selection: [2] }]) {
    model.put(values);
    await drawn();
    await drawn();
  }
  assert.deepEqual(stage.selection, [2]);
  end();
});
