import assert from "node:assert/strict";
import test from "node:test";
import { column } from "../graph/payload.ts";
import { composed } from "./composed.ts";
import { type DiffPayload } from "./messages.ts";

const bytes = (values: number[]) => values;
const u32 = (diff: DiffPayload) => [...column(Uint32Array, diff.pairs)];
const u8 = (marks: DiffPayload["before_mark"]) => [...column(Uint8Array, marks)];
const STEPS: Record<string, DiffPayload> = {
  // 0 and 1 stay, 2 is changed; then 1 is removed and 0 and 2 become one, and something new stands beside it
  "0-1": { before_mark: bytes([0, 0, 1]), after_mark: bytes([0, 0, 1]), pairs: [0, 0, 1, 1, 2, 2] },
  "1-2": { before_mark: bytes([4, 2, 4]), after_mark: bytes([3, 4]), pairs: [0, 1, 2, 1] },
};
const SIZES = [3, 3, 2];
const between = (a: number, b: number) => composed(a, b, ([p, q]) => STEPS[`${p}-${q}`], (state) => SIZES[state]);

test("two differences after each other", () => {
  const both = between(0, 2)!;
  assert.deepEqual(u32(both), [0, 1, 2, 1]);
  assert.deepEqual(u8(both.before_mark), [4, 2, 4]);
  assert.deepEqual(u8(both.after_mark), [3, 4]);
});

test("backwards, merged is split and added is removed", () => {
  const back = between(2, 0)!;
  assert.deepEqual(u32(back), [1, 0, 1, 2]);
  assert.deepEqual(u8(back.before_mark), [2, 5]);
  assert.deepEqual(u8(back.after_mark), [5, 3, 5]);
});

test("one step is itself, and what lies beyond what is known is not known", () => {
  assert.deepEqual(u8(between(0, 1)!.before_mark), [0, 0, 1]);
  assert.equal(composed(0, 5, () => undefined, () => 1), undefined);
});
