import assert from "node:assert/strict";
import test from "node:test";
import { BOTH, compare, single } from "./picture.ts";
import { castPicture, diff, graph, parallelCast, unchanged } from "./testing.ts";

const [BEFORE, AFTER] = [1, 2];

test("a single graph keeps its own numbers", () => {
  const picture = single(graph("x | y 0"));
  assert.deepEqual([...picture.id[0]], [0, 1]);
  assert.ok(picture.side.every((side) => side === BEFORE));
});

test("kept nodes are one, merged ones are partners", () => {
  const picture = castPicture(false);
  assert.equal(picture.nodeCount, 6);
  assert.deepEqual([...picture.side], [BOTH, BOTH, BOTH, BEFORE, BEFORE, BOTH]);
  assert.deepEqual(picture.partners.get(3), [1]);
  assert.equal(picture.output[5], BOTH);
});

test("edges know their sides", () => {
  const picture = castPicture(false);
  const side = (source: number, target: number, index: number) => {
    const e = [...picture.source.keys()].find(
      (i) => picture.source[i] === source && picture.target[i] === target && picture.index[i] === index,
    );
    return e === undefined ? 0 : picture.edgeSide[e];
  };
  assert.equal(side(0, 1, 0), BOTH);
  assert.equal(side(4, 5, 1), BEFORE);
  assert.equal(side(2, 5, 1), AFTER);
});

test("a merged node's ghost is laid out in its partner's kernel", () => {
  const picture = castPicture();
  assert.equal(picture.group[1], 0);
  assert.equal(picture.group[3], 0);
  assert.equal(picture.groups.side[0], AFTER);
});

test("two sides that disagree on an order give weak edges, and the rest no cycle", () => {
  const before = graph("x | a 0 | b 1");
  const after = graph("x | b 0 | a 1");
  const picture = compare(before, after, diff("kept changed changed", "kept changed changed", "0-0 1-2 2-1"));
  assert.ok(picture.weak.some((w) => w === 1));
  assert.ok([...picture.weak.keys()].filter((e) => picture.weak[e]).every((e) => picture.edgeSide[e] === BEFORE));
});

test("boxes of both sides become one where they hold the same nodes", () => {
  const make = (name: string) => graph("a @0 | b 0 @0", [{ kind: "primitive", name }]);
  const picture = compare(make("fused_a"), make("fused_a_b"), unchanged(2));
  assert.equal(picture.groups.count, 1);
  assert.equal(picture.groups.side[0], BOTH);
});

test("of boxes with one kind, those are one that share the most nodes, in whatever order they come", () => {
  const make = (text: string) => graph(text, "primitive:fused | primitive:fused | primitive:fused");
  const before = make("a @0 | b 0 @2 | c 1 @0 | d 2 @2 | e 3 @0 | f 4 @0 | g 5 @0");
  const after = make("a @0 | b 0 @2 | c 1 @0 | d 2 @2 | e 3 @1 | f 4 @1 | g 5 @1");
  const { groups } = compare(before, after, unchanged(7));
  assert.deepEqual([...groups.id[0].subarray(0, 3)], [-1, 0, 2]);
});

test("a box that only the before side has is put around its nodes", () => {
  const before = graph("a @0 | b 0 @0", "primitive:fused");
  const after = graph("a | b 0");
  const picture = compare(before, after, unchanged(2));
  assert.equal(picture.groups.count, 1);
  assert.equal(picture.groups.side[0], BEFORE);
  assert.deepEqual([...picture.group], [0, 0]);
});

test("boxes that cross part their nodes instead of showing a lie", () => {
  const before = graph("a @0 | b 0 @0 | c 1", "primitive:ab");
  const after = graph("a | b 0 @0 | c 1 @0", "primitive:bc");
  const picture = compare(before, after, unchanged(3));
  for (const s of [0, 1] as const) {
    const graphs = [before, after];
    for (let v = 0; v < 3; v++) {
      const u = picture.node[s][v];
      const own = graphs[s].group[v] >= 0;
      let boxed = false;
      for (let g = picture.group[u]; g >= 0; g = picture.groups.parent[g])
        boxed ||= (picture.groups.side[g] & (1 << s)) !== 0;
      assert.equal(boxed, own, `side ${s}, node ${v}`);
    }
  }
});

test("marks shorter than the graph and pairs outside it do no harm", () => {
  const { before, after } = parallelCast(false);
  const picture = compare(before, after, {
    before_mark: new Uint8Array(1),
    after_mark: new Uint8Array(0),
    pairs: Uint32Array.from([0, 0, 99, 1, 1, 99, 5]),
  });
  assert.equal(picture.nodeCount, before.nodeCount + after.nodeCount - 1);
});

test("of several edges between two nodes, those at one argument are one", () => {
  const before = graph("x | add 0 0 | mul 1 1");
  const after = graph("x | add 0 0 0 | mul 1");
  const picture = compare(before, after, diff("kept changed changed", "kept changed changed", "0-0 1-1 2-2"));
  const edges = Array.from(
    picture.source,
    (u, e) => `${u}-${picture.target[e]}.${picture.index[e]}:${picture.edgeSide[e]}`,
  );
  assert.deepEqual(edges, ["0-1.0:3", "0-1.1:3", "1-2.0:3", "1-2.1:1", "0-1.2:2"]);
});
