import assert from "node:assert/strict";
import test from "node:test";
import { edgeDtype } from "./edge_labels.ts";

test("one data type, several, none", () => {
  assert.equal(edgeDtype("Tensor[(1, 64), int8]"), "int8");
  assert.equal(edgeDtype("(Tensor[(1), int8], Tensor[(2), int8])"), "int8");
  assert.equal(edgeDtype("(Tensor[(1), int8], Tensor[(2), int32])"), "mixed");
  assert.equal(edgeDtype("fn ()"), "");
});
