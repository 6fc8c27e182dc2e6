import assert from "node:assert/strict";
import test from "node:test";
import { badgeText, bytes, chosenAttributes, compactType, dtype, groupName, shortShape } from "./labels.ts";

test("both dialects' tensor types read alike", () => {
  assert.equal(compactType("Tensor[(1, 64, 56, 56), float32]"), "(1, 64, 56, 56) float32");
  assert.equal(compactType('R.Tensor((1, 64), dtype="float32")'), "(1, 64) float32");
  assert.equal(compactType("(Tensor[(1, 2), int8], Tensor[(3), float32])"), "((1, 2) int8, (3) float32)");
  assert.equal(compactType("Tensor[(?, 64), float16]"), "(?, 64) float16");
});

test("shapes and dtypes of tensors, and nothing where there is no tensor", () => {
  assert.equal(shortShape("Tensor[(64, 64, 3, 3), float32]"), "64x64x3x3");
  assert.equal(shortShape("Tensor[(), float32]"), "");
  assert.equal(dtype("Tensor[(1, 2), int8]"), "int8");
  assert.equal(dtype("fn (int) -> int"), "");
});

test("bytes count tuples and take a dynamic dimension as one", () => {
  assert.equal(bytes("Tensor[(2, 3), float32]"), 24);
  assert.equal(bytes("(Tensor[(2), int8], Tensor[(?, 4), float16])"), 10);
});

test("badges say the name and shape, a scalar its value", () => {
  assert.equal(badgeText("param", "w", "", "Tensor[(64, 64, 3, 3), float32]"), "w 64x64x3x3");
  assert.equal(badgeText("constant", "meta[relay.Constant][3]", "", "Tensor[(64), float32]"), "const 64");
  assert.equal(badgeText("constant", "0.5f", "", "Tensor[(), float32]"), "0.5");
});

test("only chosen attributes are shown, and no result type twice", () => {
  assert.equal(
    chosenAttributes('{"strides":[2,2],"padding":[0,0,0,0],"groups":1,"out_dtype":"","channels":null}'),
    "strides 2,2",
  );
  assert.equal(chosenAttributes('{"units":64,"out_dtype":"int32"}', "(1, 64) int32"), "units 64");
  assert.equal(chosenAttributes("not json"), "attributes not json");
});

test("a device is said in a word, not by its target", () => {
  const gpu = "VirtualDevice(device_type=2, virtual_device_id=0, target=Target(kind='cuda', keys={'cuda', 'gpu'}))";
  const cpu = "VirtualDevice(device_type=1, virtual_device_id=0)";
  assert.equal(chosenAttributes(JSON.stringify({ virtual_device: cpu })), "on cpu:0");
  assert.equal(
    chosenAttributes(JSON.stringify({ src_virtual_device: cpu, dst_virtual_device: gpu })),
    "src cpu:0  dst cuda:0",
  );
  assert.equal(
    chosenAttributes('{"virtual_device":"VirtualDevice(device_type=99, virtual_device_id=1)"}'),
    "on device 99:1",
  );
});

test("a group's name loses TVM's prefix and every control character", () => {
  assert.equal(groupName("tvmgen_default_fused_nn_dense_add"), "fused_nn_dense_add");
  assert.equal(groupName("a\n\u202eb"), "a b");
});
