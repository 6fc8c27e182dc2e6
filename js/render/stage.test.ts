import assert from "node:assert/strict";
import test from "node:test";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { Arranger } from "../layout/client.ts";
import { type Frame, presence } from "./frame.ts";
import { Stage } from "./stage.ts";
import { Ruler } from "./text.ts";

/** The browser's next frame, when the test says so. */
function frames(): (now: number) => void {
  const waiting: FrameRequestCallback[] = [];
  globalThis.requestAnimationFrame = (callback) => waiting.push(callback);
  globalThis.cancelAnimationFrame = () => undefined;
  return (now) => {
    for (const callback of waiting.splice(0)) callback(now);
  };
}

test("the first frame after a group was opened shows what is in it, and the group's corner stays where it was", async () => {
  const paint = frames();
  const stage = new Stage(new Ruler(() => 0.5));
  const picture = single(graph("op0 | op1 0 @0 | op2 1 @0 | op3 2", "scope:layer"));
  await stage.setPicture(picture, new Set([0]));
  paint(0);
  const closed = stage.scene!;
  const item = closed.visible.collapsedGroup.indexOf(0);
  const corner = [
    closed.x[item] - closed.size.width[item] / 2 - stage.camera.x,
    closed.y[item] - closed.size.height[item] / 2 - stage.camera.y,
  ];
  await stage.setOptions({ collapsed: new Set() }, 0);
  // A frame may be late: how far it is on its way does not depend on when the scene was built.
  paint(5000);
  const scene = stage.scene!;
  const frame = { scene, t: stage.progress, earlier: stage.before } as Frame;
  assert.ok(stage.progress < 0.3);
  for (const u of [1, 2]) assert.ok(presence(frame, scene.visible.itemOf[u]) > 0.5);
  assert.equal(presence(frame, scene.visible.itemOf[0]), 1);
  for (let now = 5016; stage.progress < 1; now += 16) paint(now);
  assert.deepEqual([scene.groupBox[0] - stage.camera.x, scene.groupBox[1] - stage.camera.y], corner);
  stage.dispose();
});

test("a picture whose nodes in view stay where they are does not glide, and one that moves them does", async () => {
  const paint = frames();
  const stage = new Stage(new Ruler(() => 0.5));
  const show = async (text: string) => {
    await stage.setPicture(single(graph(text)));
    return stage.progress;
  };
  await show("a | b 0 | c 1");
  paint(0);
  assert.equal(await show("a | b 0 | d 1"), 1);
  assert.equal(stage.before, null);
  assert.ok((await show("a | b 0 | e 1 | d 2")) < 1);
  for (let now = 0; stage.progress < 1; now += 16) paint(now);
  stage.dispose();
});

test("a picture with the boxes and edges of the one before keeps its places without a layout", async () => {
  const asked: unknown[] = [];
  const { run } = Arranger.prototype;
  Arranger.prototype.run = function (input) {
    asked.push(input);
    return run.call(this, input);
  };
  frames();
  const stage = new Stage(new Ruler(() => 0.5));
  for (const text of [
    "a | b 0 | c 1",
    "a | d 0 | c 1",
    "a | d 0 | c 1 0",
    "a | d 0 | a_name_longer_than_the_least_box 1 0",
  ])
    await stage.setPicture(single(graph(text)));
  assert.equal(asked.length, 3);
  const { x, y } = stage.scene!;
  await stage.setOptions({});
  assert.deepEqual([asked.length, stage.scene!.x, stage.scene!.y], [3, x, y]);
  stage.dispose();
  Arranger.prototype.run = run;
});
