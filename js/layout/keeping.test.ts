import assert from "node:assert/strict";
import { test } from "node:test";
import { LayoutEngine, layout } from "./compound.ts";
import { Skyline } from "./keeping.ts";
import { type Builder } from "./testing/builder.ts";
import { all, collapse, seeded, without } from "./testing/edits.ts";
import { bert, randomDag, resnet } from "./testing/generators.ts";
import { median, shifts, violations } from "./testing/laws.ts";
import { below, many, random } from "./testing/random.ts";
import { type LayoutInput, type LayoutResult } from "./types.ts";

/** Room for a kernel's header and padding between two layers, as pictures of two graphs have it. */
const ROOMY = { layerGap: 52 };

/** The median distance of kept nodes from where they were, in widths of a node, after the common shift is taken out. */
function moved(input: LayoutInput, before: LayoutResult, after: LayoutResult, kept: [number, number][]): number {
  return median(shifts(before, after, kept).map(([dx, dy], i) => Math.hypot(dx, dy) / input.nodes.width[kept[i][1]]));
}

test("drawing a model's kernels as boxes moves no node by half its width, and neither does taking them away", () => {
  for (const layers of [1, 3, 12]) {
    const graph = bert({ layers }),
      [grouped, flat] = [graph.input(), graph.flat()].map((input) => ({ ...input, options: ROOMY }));
    const kernels = { ...flat, ...onlyKernels(graph) },
      first = layout(flat);
    const second = layout(seeded(kernels, first, all(flat))),
      third = layout(seeded(flat, second, all(flat)));
    assert.deepEqual(violations(kernels, second), []);
    assert.ok(
      moved(flat, first, second, all(flat)) < 0.5,
      `${layers} layers: ${moved(flat, first, second, all(flat))}`,
    );
    assert.ok(moved(flat, second, third, all(flat)) < 0.5);
    assert.equal(grouped.nodes.width.length, flat.nodes.width.length);
  }
});

/** Only the innermost groups, all at the top. */
function onlyKernels(graph: Builder): Pick<LayoutInput, "nodes" | "groups"> {
  const { nodes, groups } = graph.input(),
    isOuter = new Uint8Array(groups.parent.length);
  for (const p of groups.parent) if (p >= 0) isOuter[p] = 1;
  return {
    nodes: { ...nodes, group: nodes.group.map((g) => (g >= 0 && isOuter[g] ? -1 : g)) },
    groups: { ...groups, parent: groups.parent.map(() => -1) },
  };
}

test("an edit in one place of a random graph with groups leaves most pictures where they were, and nearly all at their heights", () => {
  const counts = { all: 0, heights: 0, edits: 0 };
  for (let seed = 0; seed < many(10, 30); seed++) {
    const next = random(seed),
      graph = randomDag(seed, { nodes: 40 + 2 * seed, groups: seed % 8, maxInputs: 2, reach: 5 });
    const input = { ...graph.input(), options: ROOMY },
      at = below(next, input.nodes.width.length);
    const { input: smaller, kept } = without(input, (n) => n === at);
    const change = { ...smaller, options: ROOMY };
    for (const [from, to, pairs] of [
      [input, change, kept],
      [change, input, kept.map(([a, b]): [number, number] => [b, a])],
    ] as const) {
      const before = layout(from),
        question = seeded(to, before, pairs),
        after = layout(question);
      assert.deepEqual(violations(question, after), [], `seed ${seed}`);
      assert.deepEqual(layout(question), after, "the same question has the same answer");
      counts.edits++;
      if (moved(to, before, after, pairs) < 0.5) counts.all++;
      if (middleRise(to, before, after, pairs) < 0.5) counts.heights++;
    }
  }
  // Sideways, one long edge more or less can turn a random graph's best order round; a compiler's graphs have none such.
  assert.ok(counts.all >= 0.7 * counts.edits && counts.heights >= 0.9 * counts.edits, JSON.stringify(counts));
});

function middleRise(input: LayoutInput, before: LayoutResult, after: LayoutResult, kept: [number, number][]): number {
  return median(shifts(before, after, kept).map(([, dy], i) => Math.abs(dy) / input.nodes.width[kept[i][1]]));
}

test("after many edits and toggles every law holds and the picture is not much taller than a fresh one", () => {
  for (const [name, graph] of [
    ["resnet-18", resnet()],
    ["bert-2", bert({ layers: 2 })],
    ["random", randomDag(5, { nodes: 120, groups: 7, maxInputs: 2, reach: 6 })],
  ] as const) {
    const engine = new LayoutEngine(),
      input = { ...graph.input(), options: ROOMY },
      next = random(3);
    let last = engine.layout(input);
    const place = new Map<number, [number, number]>();
    const remember = (numbers: ArrayLike<number>, { x, y }: LayoutResult): void => {
      for (let i = 0; i < numbers.length; i++) place.set(numbers[i], [x[i], y[i]]);
    };
    remember(
      Array.from(input.nodes.width, (_, i) => i),
      last,
    );
    for (let round = 0; round < many(10, 40); round++) {
      const part = 4 + below(next, 9),
        rest = below(next, part);
      const { input: smaller, kept } = without(input, (n) => round % 2 === 0 && n % part === rest);
      const numbers = kept.map(([n]) => n),
        known = (k: number) => Float32Array.from(numbers, (n) => place.get(n)?.[k] ?? NaN);
      const question = { ...smaller, options: ROOMY, seed: { x: known(0), y: known(1) } };
      last = engine.layout(question);
      assert.deepEqual(violations(question, last), [], `${name}, round ${round}`);
      const fresh = layout({ ...smaller, options: ROOMY });
      assert.ok(
        last.height <= 1.35 * fresh.height + 200,
        `${name}, round ${round}: ${last.height} against ${fresh.height}`,
      );
      place.clear();
      remember(numbers, last);
    }
  }
});

test("opening and closing groups again and again ends where it began", () => {
  const input = { ...bert({ layers: 3 }).input(), options: ROOMY },
    scopes = [...new Set(input.groups.parent)].filter((g) => g >= 0);
  const engine = new LayoutEngine();
  let last = engine.layout(input);
  const heights: number[] = [];
  for (let round = 0; round < 24; round++) {
    const shut = round % 2 === 0 ? scopes[(round / 2) % scopes.length] : -1;
    const shown = { ...collapse(input, (g) => g !== shut), options: ROOMY };
    const same = shown.nodes.width.length === last.x.length;
    const question = same ? { ...shown, seed: { x: last.x, y: last.y } } : shown;
    last = engine.layout(question);
    assert.deepEqual(violations(question, last), []);
    if (shut < 0) heights.push(last.height);
  }
  assert.ok(Math.max(...heights) - Math.min(...heights) < 1, heights.join(" "));
});

test("a skyline knows what is lowest between two places", () => {
  for (let seed = 0; seed < 20; seed++) {
    const next = random(seed),
      sky = new Skyline(0),
      boxes: [number, number, number, boolean][] = [];
    for (let k = 0; k < 40; k++) {
      const x0 = below(next, 100),
        x1 = x0 + 1 + below(next, 30);
      const inside = boxes.filter(([a, b]) => a < x1 && b > x0);
      const all = Math.max(0, ...inside.map(([, , y]) => y)),
        box = Math.max(-Infinity, ...inside.filter(([, , , is]) => is).map(([, , y]) => y));
      assert.deepEqual(sky.below(x0, x1), { box, all }, `seed ${seed}, step ${k}`);
      const isBox = next() < 0.7,
        bottom = all + below(next, 20);
      sky.put(x0, x1, bottom, isBox);
      boxes.push([x0, x1, bottom, isBox]);
    }
  }
});
