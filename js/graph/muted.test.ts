import assert from "node:assert/strict";
import { test } from "node:test";
import { mutedItems } from "../render/look.ts";
import { markCounts, mutedNodes, opTypes, type Tally } from "./muted.ts";
import { single } from "./picture.ts";
import { castPicture, graph } from "./testing.ts";
import { DEFAULT_OPTIONS, visible } from "./visible.ts";

const PICTURE = castPicture();

test("op types are counted once for both sides, most first, and other kinds apart", () => {
  const { ops, kinds } = opTypes(single(PICTURE.sides[0]));
  const inWords = (tallies: Tally[]) => tallies.map(({ name, count }) => `${name} ${count}`);
  assert.deepEqual([inWords(ops), inWords(kinds)], [["cast 2", "nn.relu 2", "add 1"], ["param 1"]]);
});

test("marks are counted, and muted where all sides of a node have them", () => {
  const counts = markCounts(PICTURE);
  assert.deepEqual(counts, [2, 0, 0, 0, 2, 0], "two merges, of two nodes each");
  const muted = mutedNodes(PICTURE, ["mark:kept"])!;
  assert.equal(
    muted.reduce((sum, n) => sum + n, 0),
    counts[0],
  );
  assert.equal(mutedNodes(PICTURE, []), null);
});

test("a collapsed group is muted when all of it is", () => {
  const picture = single(graph("x:param | exp 0 @0 | tanh 1 @0", "primitive:fused"));
  const shown = visible(picture, { ...DEFAULT_OPTIONS, collapsed: new Set([0]) });
  const box = shown.collapsedGroup.indexOf(0);
  assert.ok(!mutedItems(shown, mutedNodes(picture, ["exp"])!).has(box));
  assert.ok(mutedItems(shown, mutedNodes(picture, ["exp", "tanh"])!).has(box));
});
