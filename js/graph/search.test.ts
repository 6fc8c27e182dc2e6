import assert from "node:assert/strict";
import test from "node:test";
import { single } from "./picture.ts";
import { parse, search } from "./search.ts";
import { graph } from "./testing.ts";

const picture = single(
  graph(
    [
      { label: "data", kind: "param", type: "Tensor[(1, 64, 56, 56), int8]" },
      {
        label: "nn.conv2d",
        inputs: [0],
        type: "Tensor[(1, 640, 56, 56), int32]",
        attrs: { strides: [2, 2] },
        name: "conv one",
        group: 0,
      },
      { label: "cast", inputs: [1], type: "Tensor[(1, 64, 3, 3), float32]" },
    ],
    [{ kind: "primitive", name: "fused_conv" }],
  ),
);

test("words, fields, quotes and not", () => {
  assert.deepEqual(parse('op:conv2d -"bias add" name:x'), [
    { field: "op", text: "conv2d", not: false },
    { field: "any", text: "bias add", not: true },
    { field: "name", text: "x", not: false },
  ]);
});

test("an unknown field is part of the word", () => {
  assert.deepEqual(parse("a:b"), [{ field: "any", text: "a:b", not: false }]);
});

test("all terms must match", () => {
  assert.deepEqual(search(picture, "op:conv2d dtype:int32"), [1]);
  assert.deepEqual(search(picture, "op:conv2d dtype:int8"), []);
  assert.deepEqual(search(picture, "-op:cast -kind:param"), [1]);
});

test("a shape matches whole dimensions", () => {
  assert.deepEqual(search(picture, "shape:64"), [0, 2]);
  assert.deepEqual(search(picture, "shape:3x3"), [2]);
  assert.deepEqual(search(picture, "shape:(56,56)"), [0, 1]);
});

test("names, attributes and groups are searched without a field", () => {
  assert.deepEqual(search(picture, '"conv one"'), [1]);
  assert.deepEqual(search(picture, "strides"), [1]);
  assert.deepEqual(search(picture, "group:fused"), [1]);
  assert.deepEqual(search(picture, "   "), []);
});
