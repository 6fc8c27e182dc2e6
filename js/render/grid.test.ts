import assert from "node:assert/strict";
import test from "node:test";
import { random } from "../layout/testing/random.ts";
import { Grid } from "./grid.ts";

test("finds exactly what touches a rectangle, each once", () => {
  const next = random(7);
  const boxes = new Float32Array(4 * 500);
  for (let i = 0; i < 500; i++) {
    const [x, y] = [next() * 3000, next() * 20000];
    boxes.set([x, y, x + next() * (i % 50 === 0 ? 3000 : 150), y + next() * (i % 70 === 0 ? 9000 : 60)], 4 * i);
  }
  const grid = new Grid(boxes, 3000, 20000);
  for (let q = 0; q < 50; q++) {
    const [x, y] = [next() * 3000 - 200, next() * 20000 - 200];
    const [w, h] = [next() * 900, next() * 900];
    const found: number[] = [];
    grid.query(x, y, x + w, y + h, (i) => found.push(i));
    const expected = [...Array(500).keys()].filter(
      (i) => boxes[4 * i] <= x + w && boxes[4 * i + 2] >= x && boxes[4 * i + 1] <= y + h && boxes[4 * i + 3] >= y,
    );
    assert.deepEqual(
      found.sort((a, b) => a - b),
      expected,
    );
  }
});

test("an empty picture has nothing in it", () => {
  new Grid(new Float32Array(0), 0, 0).query(0, 0, 1, 1, () => assert.fail());
});
