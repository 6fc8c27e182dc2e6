import assert from "node:assert/strict";
import test from "node:test";
import { compare, single } from "../graph/picture.ts";
import { graph, parallelCast } from "../graph/testing.ts";
import { describeSelection } from "./brief.tsx";

test("one node in one line: op, type, what was chosen, kernel, mark", () => {
  const { before, after, diff } = parallelCast();
  assert.equal(
    describeSelection(compare(before, after, diff), [2]),
    "nn.relu  ·  (1, 64) float32  ·  in kernel fused_cast_nn_relu  ·  merged",
  );
});

test("a removed node is not said to be in the kernel it is only laid out in", () => {
  const { before, after, diff } = parallelCast();
  assert.ok(!describeSelection(compare(before, after, diff), [3]).includes("kernel"));
});

test("nothing, and several", () => {
  const picture = single(graph("x | y"));
  assert.equal(describeSelection(picture, []), "");
  assert.equal(describeSelection(picture, [0, 1]), "2 nodes selected");
});
