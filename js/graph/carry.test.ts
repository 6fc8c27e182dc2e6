import assert from "node:assert/strict";
import test from "node:test";
import { carriedGroups, carry } from "./carry.ts";
import { compare, single } from "./picture.ts";
import { diff, graph, unchanged } from "./testing.ts";

test("repeated layers stay themselves when each of them gains a node", () => {
  // Each layer's weight is named, as in a real model, and leads to the layer's other nodes.
  const layer = (i: number, size: number) => [
    { label: `w${i}`, kind: "param" as const },
    { label: "dense", inputs: [size * i, size * i + 1] },
    ...(size === 4 ? [{ label: "erf", inputs: [size * i + 2] }] : []),
    { label: "relu", inputs: [size * i + size - 1] },
  ];
  const make = (size: number) =>
    single(graph([{ label: "x", kind: "param" }, ...[0, 1, 2, 3].flatMap((i) => layer(i, size))]));
  const found = carry(make(3), make(4)).nodes;
  for (const i of [0, 1, 2, 3]) {
    assert.equal(found[4 * i + 1], 3 * i + 1, `weight ${i}`);
    assert.equal(found[4 * i + 2], 3 * i + 2, `dense ${i}`);
    assert.equal(found[4 * i + 3], -1, `erf ${i} is new`);
  }
});

test("one step on, the result is the input", () => {
  const [a, b] = [graph("x | cast 0"), graph("x | round 0 | cast 1")];
  const first = compare(a, b, diff("kept removed", "kept added added", "0-0"));
  const second = compare(b, b, unchanged(3));
  assert.deepEqual([...carry(first, second).nodes], [first.node[1][0], first.node[1][1], first.node[1][2]]);
});

test("a group is the one that most of its nodes were in, in whatever order they come", () => {
  const make = (text: string) => single(graph(text, "scope:a | scope:b | scope:c"));
  const old = make("a @0 | b 0 @2 | c 1 @0 | d 2 @2 | e 3 @1 | f 4 @1 | g 5 @1");
  const next = make("a @0 | b 0 @2 | c 1 @0 | d 2 @2 | e 3 @0 | f 4 @0 | g 5 @0");
  assert.deepEqual([...carriedGroups(old, next, carry(old, next).nodes)], [1, -1, 2]);
});

test("what looks like two old nodes is taken for neither", () => {
  const old = single(graph("a | b | b"));
  const next = single(graph("c | b 0"));
  assert.deepEqual([...carry(old, next).nodes], [-1, -1]);
});

test("a selection is kept where it is exact, and a guess is for places only", () => {
  const old = single(graph("x | cast 0 | relu 1"));
  const next = single(graph("x | round 0 | relu 1"));
  const { nodes, selection } = carry(old, next, [0, 2]);
  assert.deepEqual([nodes[2], selection], [2, [0]]);
});

test("of two equal nodes, one is kept in an equal graph only", () => {
  const twice = "x | cast 0 | cast 0";
  const old = single(graph(twice));
  assert.deepEqual(carry(old, single(graph(twice)), [2]).selection, [2]);
  assert.deepEqual(carry(old, single(graph(`${twice} | add 1 2`)), [2]).selection, []);
});

test("a node of another type is not the selected one", () => {
  const make = (type: string) => single(graph([{ label: "x", type }]));
  assert.deepEqual(carry(make("Tensor[(1), int8]"), make("Tensor[(1), int32]"), [0]).selection, []);
});

test("a graph of both pictures is carried node for node, twins too", () => {
  const [before, after, other] = ["x | cast 0 | cast 0", "x | round 0 | cast 0", "x | cast 0"].map((text) =>
    graph(text),
  );
  const first = compare(before, after, diff("kept removed kept", "kept added kept", "0-0 2-2"));
  const second = compare(before, other, diff("kept removed kept", "kept kept", "0-0 2-1"));
  const { nodes, selection } = carry(first, second, [1, 2]);
  assert.deepEqual([nodes[0], nodes[1], nodes[2]], [0, 1, 2]);
  assert.deepEqual(selection, [1, 2]);
});
