import assert from "node:assert/strict";
import test from "node:test";
import { column, decode, text } from "./payload.ts";
import { type GroupSpec, payload } from "./testing.ts";

test("a column is read from a view that is not aligned", () => {
  const bytes = new Uint8Array(13);
  new DataView(bytes.buffer).setUint32(5, 70000, true);
  assert.deepEqual([...column(Uint32Array, new DataView(bytes.buffer, 1, 12))], [0, 70000, 0]);
});

test("a saved page's columns are base64", () => {
  assert.deepEqual([...column(Int32Array, btoa("\x01\x00\x00\x00\xff\xff\xff\xff"))], [1, -1]);
});

test("negative groups survive the way through bytes", () => {
  const bytes = Int32Array.from([-1, 3]);
  assert.deepEqual([...column(Int32Array, new DataView(bytes.buffer))], [-1, 3]);
});

test("a column comes in as many bytes for each value as all of them need", () => {
  const all = [
    [Uint32Array, [Uint8Array, Uint16Array, Uint32Array], [0, 200]],
    [Int32Array, [Int8Array, Int16Array, Int32Array], [-1, 100]],
  ] as const;
  for (const [type, sent, values] of all)
    for (const each of sent) {
      const bytes = new Uint8Array(each.from(values).buffer);
      const read = column<Uint32Array | Int32Array>(type, new DataView(bytes.buffer), 2);
      assert.deepEqual([read.constructor, [...read]], [type, [...values]]);
      assert.deepEqual(
        [...column<Uint32Array | Int32Array>(type, btoa(String.fromCharCode(...bytes)), 2)],
        [...values],
      );
    }
  assert.equal(column(Uint32Array, new DataView(new ArrayBuffer(0)), 0).length, 0);
});

test("a payload gives its nodes, edges and strings back", () => {
  const g = decode(payload("x:param | nn.relu 0", [], [1]));
  assert.equal(g.nodeCount, 2);
  assert.deepEqual([...g.source], [0]);
  assert.equal(text(g, g.label[1]), "nn.relu");
  assert.deepEqual([...g.output], [1]);
});

test("nothing at all is an empty graph", () => {
  assert.equal(decode({}).nodeCount, 0);
  assert.equal(decode(undefined).nodeCount, 0);
});

test("columns of different length and ids outside the graph are refused in words", () => {
  const short = payload("x");
  short.node.group = [];
  assert.throws(() => decode(short), /differ in length/);
  const astray = payload("x | y 0");
  astray.edge.source = [7];
  assert.throws(() => decode(astray), /not in it/);
  assert.throws(() => decode({ ...payload([]), version: 9 }), /version 1/);
});

test("boxes inside themselves or inside too many others are refused in words, and at once", () => {
  const tower = (count: number) =>
    payload(
      [{ label: "x", group: count - 1 }],
      Array.from({ length: count }, (_, at): GroupSpec => ({ kind: "function", name: "f", parent: at - 1 })),
    );
  assert.equal(decode(tower(100)).groupCount, 100);
  assert.throws(() => decode(tower(2000)), /inside 100 others/);
  const ring = tower(2);
  ring.group.parent = [1, 0];
  assert.throws(() => decode(ring), /inside itself/);
});

test("one payload is one graph", () => {
  const sent = payload("x | relu 0");
  assert.equal(decode(sent), decode(sent));
  assert.notEqual(decode(sent), decode({ ...sent }));
});
