import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { LayoutEngine, layout } from "./compound.ts";
import { type Builder } from "./testing/builder.ts";
import { all, seeded, without } from "./testing/edits.ts";
import { bert, randomDag, resnet } from "./testing/generators.ts";
import { median, shifts, violations } from "./testing/laws.ts";
import { type LayoutInput, type LayoutResult } from "./types.ts";

/** Median distances that the kept nodes moved, after the one translation that the view takes out by panning. */
function moves(before: LayoutResult, after: LayoutResult, kept: [number, number][]): { x: number; y: number } {
  const apart = shifts(before, after, kept);
  return { x: median(apart.map(([dx]) => Math.abs(dx))), y: median(apart.map(([, dy]) => Math.abs(dy))) };
}

const halfWidth = (input: LayoutInput) => median([...input.nodes.width]) / 2;

const models: [string, Builder][] = [
  ["bert-3", bert({ layers: 3 })],
  ["bert-3 flat", bert({ layers: 3, groups: false })],
  ["resnet-18", resnet()],
  ["resnet-18 flat", resnet(undefined, false)],
];
const flat = Array.from({ length: 16 }, (_, seed) => randomDag(seed, { nodes: 40 + 4 * seed, maxInputs: 2, reach: 5 }));
const nested = Array.from({ length: 16 }, (_, seed) =>
  randomDag(seed, { nodes: 40 + 4 * seed, groups: 5, maxInputs: 2, reach: 5 }),
);
const randoms = [...flat, ...nested].map((graph, i): [string, Builder] => [`random ${i}`, graph]);
/** Three nodes, spread over the graph. */
const few =
  (input: LayoutInput) =>
  (n: number): boolean =>
    n % Math.ceil(input.nodes.width.length / 3) === 7;

test("the same graph with its own picture as seed stays as it is", () => {
  for (const [name, graph] of [...models, ...randoms]) {
    const input = graph.input(),
      before = layout(input);
    const { x, y } = moves(before, layout(seeded(input, before, all(input))), all(input));
    assert.ok(x < 1 && y < 4, `${name}: ${x}, ${y}`);
  }
});

test("asked again with the places it gave, an engine gives the same picture, to the last point of an edge", () => {
  const moving = [...models, ...randoms]
    .filter(([name, graph]) => {
      const input = graph.input(),
        engine = new LayoutEngine(),
        own = all(input);
      const settled = engine.layout(seeded(input, engine.layout(input), own));
      assert.deepEqual(violations(input, settled), [], name);
      return !isDeepStrictEqual(engine.layout(seeded(input, settled, own)), settled);
    })
    .map(([name]) => name);
  // Where a group of a random graph gives way, those around it can go on making room.
  assert.ok(moving.length <= 0.2 * randoms.length && moving.every((name) => name.startsWith("random")), moving.join());
});

function dropFew(graph: Builder): { input: LayoutInput; x: number; y: number } {
  const input = graph.input(),
    before = layout(input),
    { input: next, kept } = without(input, few(input));
  const changed = seeded(next, before, kept),
    after = layout(changed);
  assert.deepEqual(violations(changed, after), []);
  return { input, ...moves(before, after, kept) };
}

function addFew(graph: Builder): { input: LayoutInput; x: number; y: number } {
  const input = graph.input(),
    { input: previous, kept } = without(input, few(input)),
    before = layout(previous);
  const pairs = kept.map(([a, b]): [number, number] => [b, a]);
  const changed = seeded(input, before, pairs),
    after = layout(changed);
  assert.deepEqual(violations(changed, after), []);
  return { input, ...moves(before, after, pairs) };
}

test("dropping a few ops of a model moves the others less than half a node, in the median", () => {
  for (const [name, graph] of models) {
    const { input, x, y } = dropFew(graph);
    assert.ok(Math.hypot(x, y) < halfWidth(input), `${name}: ${x}, ${y}`);
  }
});

test("adding a few ops to a model moves the others down by their layers, and not sideways", () => {
  for (const [name, graph] of models) {
    const { input, x, y } = addFew(graph);
    assert.ok(x < halfWidth(input), `${name}: ${x}`);
    assert.ok(y <= 3 * 85, `${name}: ${y}`);
  }
});

test("small changes to random graphs keep most pictures still, though any order may be the better one", () => {
  for (const [share, graphs] of [
    [0.75, flat],
    [0.4, nested],
  ] as const)
    for (const change of [dropFew, addFew]) {
      const still = graphs.filter((graph) => {
        const { input, x } = change(graph);
        return x < halfWidth(input);
      });
      assert.ok(still.length >= share * graphs.length, `${change.name}: ${still.length} of ${graphs.length}`);
    }
});

test("a remembered level gives the same picture as a fresh engine", () => {
  const engine = new LayoutEngine();
  for (const [name, graph] of [...models, ...randoms.slice(0, 6)]) {
    const input = graph.input(),
      first = engine.layout(input);
    assert.deepEqual(engine.layout(input), first, name);
    assert.deepEqual(layout(input), first, name);
  }
});
