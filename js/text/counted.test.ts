import assert from "node:assert/strict";
import test from "node:test";
import { counted } from "./counted.ts";

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
