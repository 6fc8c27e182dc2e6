import assert from "node:assert/strict";
import test from "node:test";
import { between, neighbourhood, step, stream } from "./neighbours.ts";
import { single } from "./picture.ts";
import { graph } from "./testing.ts";
import { DEFAULT_OPTIONS, visible } from "./visible.ts";

//    0        x: 0 at 100; 1 at 0, 2 at 200; 3 at 0
//   / \
//  1   2
//   \
//    3
const picture = single(graph("a | b 0 | c 0 | d 1"));
const shown = visible(picture, DEFAULT_OPTIONS);
const x = [100, 0, 200, 0];
const y = [0, 100, 100, 200];

test("up and down follow edges, left and right go to neighbours", () => {
  assert.equal(step(shown, x, y, 1, "down"), 3);
  assert.equal(step(shown, x, y, 3, "up"), 1);
  assert.equal(step(shown, x, y, 1, "right"), 2);
  assert.equal(step(shown, x, y, 2, "left"), 1);
  assert.equal(step(shown, x, y, 3, "down"), -1);
});

test("with nothing selected the first arrow goes to the top", () => {
  assert.equal(step(shown, x, y, -1, "down"), 0);
});

test("the straightest of several edges is taken", () => {
  assert.equal(step(shown, [30, 0, 200, 0], y, 0, "down"), 1);
});

test("everything upstream, everything downstream, and all that lies between", () => {
  assert.deepEqual(stream(picture, [3], "up").sort(), [0, 1, 3]);
  assert.deepEqual(stream(picture, [0], "down").sort(), [0, 1, 2, 3]);
  assert.deepEqual(between(picture, [3, 0]), [0, 1, 3]);
  assert.deepEqual(between(picture, [2, 3]), []);
});

test("a neighbourhood grows by one edge a hop, both ways", () => {
  assert.deepEqual([...neighbourhood(picture, [1], 0)], [0, 1, 0, 0]);
  assert.deepEqual([...neighbourhood(picture, [1], 1)], [1, 1, 0, 1]);
  assert.deepEqual([...neighbourhood(picture, [1], 2)], [1, 1, 1, 1]);
});
