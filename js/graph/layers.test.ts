import assert from "node:assert/strict";
import test from "node:test";
import { single } from "./picture.ts";
import { foldLayers } from "./picture_groups.ts";
import { graph } from "./testing.ts";

const deep = (layers: number) =>
  single(graph("x", Array.from({ length: layers }, (_, i) => `scope:layer_${i}`).join(" | "))).groups;

test("hundreds of layers get one level more, each layer in its own chunk, in order", () => {
  const groups = deep(500);
  assert.equal(groups.count, 525);
  assert.equal(groups.name[500], "layer_0–19 ×20");
  assert.equal(groups.parent[0], 500);
  assert.equal(groups.parent[499], 524);
});

test("a readable number of layers stays as it is", () => {
  const groups = deep(48);
  assert.equal(groups.count, 48);
  assert.equal(foldLayers(groups), groups);
});
