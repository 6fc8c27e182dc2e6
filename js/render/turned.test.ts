import assert from "node:assert/strict";
import { test } from "node:test";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { paperRuler } from "./paper.ts";
import { Stage } from "./stage.ts";

// Nothing is painted here.
globalThis.requestAnimationFrame = () => 0;

const CHAIN = graph("x:param | exp 0 @0 | tanh 1 @0 | add 2 0", "primitive:fused", [3]);

async function scene(direction: "down" | "right") {
  const stage = new Stage(paperRuler(undefined));
  stage.direction = direction;
  await stage.setPicture(single(CHAIN), new Set());
  return stage.scene!;
}

test("to the right, producers are at the left of what reads them, and boxes stay upright", async () => {
  const [down, right] = [await scene("down"), await scene("right")];
  assert.deepEqual([...right.size.width], [...down.size.width]);
  const { source, target, edgeCount } = right.visible;
  for (let e = 0; e < edgeCount; e++) {
    const [s, t] = [source[e], target[e]];
    assert.ok(right.x[s] + right.size.width[s] / 2 < right.x[t] - right.size.width[t] / 2);
  }
  assert.ok(right.width > right.height && down.height > down.width);
});

test("boxes do not overlap, a group holds its nodes with room for its name, and edges end on their boxes", async () => {
  const { x, y, size, groupBox, visible, points, pointOffset } = await scene("right");
  for (let i = 0; i < visible.count; i++) {
    for (let j = 0; j < i; j++) {
      const apart =
        Math.abs(x[i] - x[j]) >= (size.width[i] + size.width[j]) / 2 ||
        Math.abs(y[i] - y[j]) >= (size.height[i] + size.height[j]) / 2;
      assert.ok(apart);
    }
    if (visible.parent[i] < 0) continue;
    const [gx, gy, gw, gh] = groupBox.subarray(0, 4);
    assert.ok(x[i] - size.width[i] / 2 >= gx && x[i] + size.width[i] / 2 <= gx + gw);
    assert.ok(y[i] - size.height[i] / 2 >= gy + 24 && y[i] + size.height[i] / 2 <= gy + gh);
  }
  for (let e = 0; e < visible.edgeCount; e++) {
    const s = visible.source[e];
    assert.ok(Math.abs(points[2 * pointOffset[e]] - (x[s] + size.width[s] / 2)) < 1);
  }
});
