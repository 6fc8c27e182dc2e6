import assert from "node:assert/strict";
import test from "node:test";
import { initiallyCollapsed } from "./collapse.ts";
import { text } from "./payload.ts";
import { compare, MARKS, type Picture, readDiff, single } from "./picture.ts";
import { diff, graph, type NodeSpec } from "./testing.ts";
import { DEFAULT_OPTIONS, type Visible, visible } from "./visible.ts";

function names(shown: Visible, picture: Picture): string[] {
  return [...shown.node].map((u) => (u >= 0 ? text(picture.sides[0], picture.sides[0].label[u]) : "group"));
}

function badges(shown: Visible, item: number, what: "kind" | "side"): string[] | undefined {
  return shown.badges.get(item)?.map((badge) => `${badge.node} ${badge[what]}`);
}

/** The sources of the edges into an item. */
function into(shown: Visible, item: number): number[] {
  return [...shown.source].filter((_, e) => shown.target[e] === item);
}

test("weights and constants become badges, data stays a node", () => {
  const picture = single(graph("data:param | w:param | 0.5f:constant | nn.conv2d 0 1 | add 3 2"));
  const shown = visible(picture, DEFAULT_OPTIONS);
  assert.deepEqual(names(shown, picture), ["data", "nn.conv2d", "add"]);
  assert.deepEqual(badges(shown, 1, "kind"), ["1 param"]);
  assert.deepEqual(badges(shown, 2, "kind"), ["2 constant"]);
  assert.equal(visible(picture, { ...DEFAULT_OPTIONS, showConstants: true }).count, 5);
});

test("a weight on one side only is a badge there and a node on the other", () => {
  const before = graph("data:param | var:param | batch_norm 0 1");
  const after = graph("data:param | var:param | rsqrt 1 | multiply 0 2");
  const shown = visible(
    compare(before, after, diff("kept kept removed", "kept kept added added", "0-0 1-1")),
    DEFAULT_OPTIONS,
  );
  const item = shown.itemOf[1];
  assert.equal(shown.node[item], 1);
  assert.equal(shown.side[item], 2);
  assert.deepEqual(badges(shown, shown.itemOf[2], "side"), ["1 1"]);
  assert.ok([...shown.source.keys()].filter((e) => shown.source[e] === item).every((e) => shown.edgeSide[e] === 2));
});

test("data stays a node where its weight is computed", () => {
  const picture = single(graph("data:param | w:param | negative 1 | nn.conv2d 0 2"));
  assert.deepEqual(names(visible(picture, DEFAULT_OPTIONS), picture), ["data", "w", "negative", "nn.conv2d"]);
});

test("an index input is the data, the table it looks up is the weight", () => {
  const picture = single(
    graph([
      { label: "table", kind: "param" },
      { label: "ids", kind: "param", type: "Tensor[(1, 8), int64]" },
      { label: "take", inputs: [0, 1] },
    ]),
  );
  assert.deepEqual(names(visible(picture, DEFAULT_OPTIONS), picture), ["ids", "take"]);
});

test("a tuple get is a mark on the edge, a tuple's fields go straight to the consumer", () => {
  const picture = single(graph("x:param | split 0 | .1:get_item 1 | nn.relu 2 | tuple:tuple 3 1 | concatenate 4"));
  const shown = visible(picture, DEFAULT_OPTIONS);
  assert.deepEqual(names(shown, picture), ["x", "split", "nn.relu", "concatenate"]);
  assert.equal(shown.edgeLabel[1], ".1");
  assert.deepEqual(into(shown, 3), [2, 1]);
});

test("a field taken from a tuple finds its producer", () => {
  const picture = single(graph("x:param | a 0 | b 0 | tuple:tuple 1 2 | .1:get_item 3 | use 4"));
  const shown = visible(picture, DEFAULT_OPTIONS);
  assert.deepEqual(into(shown, 3), [2]);
  assert.equal(shown.edgeLabel[shown.target.indexOf(3)], "");
});

test("a collapsed group is one item, and edges between two of them are one", () => {
  const picture = single(graph("x:param | a 0 @0 | b 1 @0 | c 2 1 @1", "scope:s0 | scope:s1"));
  const shown = visible(picture, { ...DEFAULT_OPTIONS, collapsed: new Set([0, 1]) });
  assert.equal(shown.count, 3);
  assert.equal(shown.edgeCount, 2);
  assert.equal(shown.edgeFold[1], 2);
  assert.equal(shown.itemOf[1], shown.itemOf[2]);
});

test("a lone function around everything is not a box; two functions are", () => {
  const one = single(graph("a @0", "function:main"));
  assert.equal(visible(one, DEFAULT_OPTIONS).open.length, 0);
  const two = single(graph("a @0 | b @1", "function:main | function:f"));
  assert.equal(visible(two, DEFAULT_OPTIONS).open.length, 2);
});

test("a producer with very many consumers is a badge at each", () => {
  const nodes: NodeSpec[] = [{ label: "mask", kind: "param" }];
  for (let i = 0; i < 20; i++) nodes.push({ label: "add", inputs: i === 0 ? [0] : [i, 0] });
  const shown = visible(single(graph(nodes)), { ...DEFAULT_OPTIONS, showConstants: true });
  assert.equal([...shown.source].filter((s) => s === 0).length, 0);
  assert.equal(shown.badges.get(5)?.[0].kind, "stub");
});

test("only what is asked for is shown, with a gap for what lies between", () => {
  const picture = single(graph("a | b 0 | c 1 | d 2"));
  const shown = visible(picture, { ...DEFAULT_OPTIONS, only: Uint8Array.from([1, 0, 0, 1]) });
  assert.equal(shown.count, 3);
  assert.deepEqual([...shown.gap], [0, 2, 0]);
  assert.equal(shown.edgeCount, 2);
  assert.ok(shown.weak.every((w) => w === 0));
});

test("gaps never make the flow a circle", () => {
  // a hidden bypass around the shown node: one gap above it, one beneath
  const picture = single(graph("a | h1 0 | shown 1 | h2 2 1 | end 3"));
  const shown = visible(picture, { ...DEFAULT_OPTIONS, only: Uint8Array.from([0, 0, 1, 0, 0]) });
  assert.equal(shown.count, 3);
  assert.ok(shown.weak.every((w) => w === 0));
});

test("a large model starts with its scopes closed, a small one with everything open", () => {
  const nodes: NodeSpec[] = [];
  for (let i = 0; i < 600; i++) nodes.push({ label: "op", inputs: i > 0 ? [i - 1] : [], group: Math.floor(i / 50) });
  const scopes = Array.from({ length: 12 }, (_, i) => ({ kind: "scope" as const, name: `layer_${i}` }));
  assert.equal(initiallyCollapsed(single(graph(nodes, scopes))).size, 12);
  assert.equal(initiallyCollapsed(single(graph(nodes.slice(0, 100), scopes))).size, 0);
});

test("the runtime's calls are drawn on request; a tensor that it allocates carries data", () => {
  const nodes =
    "x:param | 0:constant | relax.vm.alloc_storage 1 | relax.vm.alloc_tensor 2 | fused_add 0 3 | relax.vm.kill_object 3";
  const picture = single(graph(nodes, [], [4]));
  const drawn = (showLowering: boolean) => names(visible(picture, { ...DEFAULT_OPTIONS, showLowering }), picture);
  assert.deepEqual(drawn(false), ["x", "relax.vm.alloc_tensor", "fused_add"]);
  assert.equal(drawn(true).length, 5);
});

test("lowering is a change on request: a pair, a lost shape, a call of the runtime", () => {
  const raw = {
    before_mark: [0, 6, 6],
    after_mark: [0, 6, 6, 3],
    pairs: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0),
  };
  const marks = (lowering: boolean) => {
    const { before_mark, after_mark, lowers } = readDiff(raw, lowering);
    assert.ok(lowers);
    return [[...before_mark], [...after_mark]].map((side) => side.map((mark) => MARKS[mark]));
  };
  assert.deepEqual(marks(false), [
    ["kept", "kept", "kept"],
    ["kept", "kept", "kept", "added"],
  ]);
  assert.deepEqual(marks(true), [
    ["kept", "changed", "removed"],
    ["kept", "changed", "added", "added"],
  ]);
});
