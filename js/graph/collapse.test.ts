import assert from "node:assert/strict";
import { test } from "node:test";
import { fromPython, toPython } from "./collapse.ts";
import { compare, single } from "./picture.ts";
import { graph, unchanged } from "./testing.ts";

const CHAIN = "x:param | exp 0 @0 | tanh 1 @1";

test("groups go by the ids that Python has", () => {
  const picture = single(graph(CHAIN, "primitive:a #5 | primitive:b #7"));
  assert.deepEqual([...fromPython(picture, [7])!], [1]);
  assert.deepEqual(toPython(picture, new Set([1, 0])), [5, 7]);
  assert.equal(fromPython(picture, null), null);
  assert.equal(fromPython(picture, [])!.size, 0);
  assert.equal(fromPython(picture, [99])!.size, 0);
});

test("a group that both sides have is closed from either, and Python gets both", () => {
  const before = graph(CHAIN, "primitive:a #1 | primitive:b #2");
  const after = graph(CHAIN, "primitive:a #4 | primitive:b #3");
  const picture = compare(before, after, unchanged(3));
  const closed = fromPython(picture, { after: [4] })!;
  assert.deepEqual(toPython(picture, closed), { before: [1], after: [4] });
  assert.deepEqual(toPython(picture, fromPython(picture, {})!), { before: [], after: [] });
});

test("the level put in for very many layers is closed where all its layers are", () => {
  const layers = Array.from({ length: 120 }, (_, i) => i);
  const nodes = ["x:param", ...layers.map((i) => `exp ${i} @${i}`)].join(" | ");
  const picture = single(graph(nodes, layers.map((i) => `scope:layer_${i}`).join(" | ")));
  const ours = [...picture.groups.id[0].keys()].filter((g) => picture.groups.id[0][g] < 0);
  assert.ok(ours.length > 0);
  assert.deepEqual(toPython(picture, new Set(ours)), layers);
  const closed = fromPython(picture, layers)!;
  assert.ok(ours.every((g) => closed.has(g)));
  const open = fromPython(picture, layers.slice(1))!;
  assert.equal(ours.filter((g) => !open.has(g)).length, 1);
});
