import assert from "node:assert/strict";
import test from "node:test";
import { Grid } from "./grid.ts";

test("finds exactly what touches a rectangle, each once", () => {
  // A fixed pseudo-random sequence: the same boxes in every run.
  let seed = 7;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const boxes = new Float32Array(4 * 500);
  for (let i = 0; i < 500; i++) {
    const [x, y] = [random() * 3000, random() * 20000];
    boxes.set([x, y, x + random() * (i % 50 === 0 ? 3000 : 150), y + random() * (i % 70 === 0 ? 9000 : 60)], 4 * i);
  }
  const grid = new Grid(boxes, 3000, 20000);
  for (let q = 0; q < 50; q++) {
    const [x, y] = [random() * 3000 - 200, random() * 20000 - 200];
    const [w, h] = [random() * 900, random() * 900];
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
