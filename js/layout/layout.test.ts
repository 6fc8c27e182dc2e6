import assert from "node:assert/strict";
import { test } from "node:test";
import { layout } from "./compound";
import { Builder } from "./testing/builder";
import { bert, randomDag, resnet } from "./testing/generators";
import { portDisorder, upwardEdges, violations } from "./testing/laws";

test("an empty picture", () => {
  const result = layout(new Builder().input());
  assert.equal(result.width, 0);
  assert.equal(result.edgeOffset.length, 1);
});

test("a chain is one straight column", () => {
  const b = new Builder();
  for (let i = 0, last = b.node("x"); i < 20; i++) last = b.node(i % 3 ? "add" : "nn.conv2d", -1, [last]);
  const { x, edgePoints } = layout(b.input());
  for (const at of x) assert.ok(Math.abs(at - x[0]) < 0.01);
  assert.equal(edgePoints.length, 4 * b.edgeCount);
});

for (const [name, graph] of [["bert-2", bert({ layers: 2 })], ["bert-2 flat", bert({ layers: 2, groups: false })], ["resnet-18", resnet()]] as const)
  test(`${name} obeys every law`, () => {
    const input = graph.input(), result = layout(input);
    assert.deepEqual(violations(input, result), []);
    assert.deepEqual(upwardEdges(input, result), []);
    assert.deepEqual(portDisorder(input, result), []);
  });

test("random DAGs with nested groups obey every law", () => {
  for (let seed = 0; seed < 150; seed++) {
    const graph = randomDag(seed, { nodes: 5 + (seed * 7) % 120, groups: seed % 9, reach: 3 + (seed % 20), scattered: seed % 5 === 4 });
    const input = graph.input(), result = layout(input);
    assert.deepEqual(violations(input, result), [], `seed ${seed}`);
    assert.deepEqual(portDisorder(input, result), [], `seed ${seed}`);
  }
});
