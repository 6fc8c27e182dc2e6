import assert from "node:assert/strict";
import test from "node:test";
import { between, fit, toScreen, toWorld, zoomAt } from "./camera.ts";

const view = { width: 400, height: 300 };

test("screen and world are each other's inverse", () => {
  const camera = { x: 120, y: -40, scale: 0.37 };
  const [x, y] = toWorld(camera, view, 33, 250);
  const [sx, sy] = toScreen(camera, view, x, y);
  assert.ok(Math.abs(sx - 33) < 1e-9 && Math.abs(sy - 250) < 1e-9);
});

test("zooming keeps the point under the pointer", () => {
  const camera = { x: 5, y: 5, scale: 1 };
  const before = toWorld(camera, view, 60, 70);
  const after = toWorld(zoomAt(camera, view, 60, 70, 1.7), view, 60, 70);
  assert.ok(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1e-9);
  assert.equal(zoomAt(camera, view, 0, 0, 1e9).scale, 4);
});

test("fit shows all of a box, and no closer than asked", () => {
  const camera = fit({ x: 0, y: 0, width: 4000, height: 100 }, view, 1, 20);
  assert.equal(camera.scale, 360 / 4000);
  assert.equal(fit({ x: 0, y: 0, width: 10, height: 10 }, view).scale, 1);
});

test("a glide starts and ends where it should", () => {
  const [a, b] = [
    { x: 0, y: 0, scale: 1 },
    { x: 10, y: 20, scale: 0.25 },
  ];
  assert.deepEqual(between(a, b, 0), a);
  assert.ok(Math.abs(between(a, b, 1).scale - 0.25) < 1e-12);
  assert.ok(Math.abs(between(a, b, 0.5).scale - 0.5) < 1e-12);
});
