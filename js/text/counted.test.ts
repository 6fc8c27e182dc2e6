import assert from "node:assert/strict";
import test from "node:test";
import { counted, formatBytes, formatTime } from "./counted.ts";

test("one is singular, and every other number plural", () => {
  const said = [
    counted(0, "node"),
    counted(1, "kernel"),
    counted(2, "pass"),
    counted(3, "branch"),
    counted(1200, "node"),
  ];
  assert.deepEqual(said, ["0 nodes", "1 kernel", "2 passes", "3 branches", "1,200 nodes"]);
});

test("bytes have the unit that Python gives them", () => {
  const sizes = [0, 999, 1000, 1_234_567, 2_500_000_000];
  assert.deepEqual(sizes.map(formatBytes), ["0 bytes", "999 bytes", "1 kB", "1.23 MB", "2.5 GB"]);
});

test("times have the unit that Python gives them", () => {
  const times = [0, 0.219, 5.125, 999.9, 1234, 36_500, 1_500_000];
  assert.deepEqual(times.map(formatTime), ["0 ns", "219 ns", "5.13 µs", "1,000 µs", "1.23 ms", "36.5 ms", "1.5 s"]);
});
