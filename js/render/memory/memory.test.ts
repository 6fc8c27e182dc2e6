import assert from "node:assert/strict";
import { test } from "node:test";
import { SvgPen } from "../pen.ts";
import { clampWindow, moved, placeAt, rowTop, scaleOf, windowWith, xOf, zoomWindow } from "./chart.ts";
import { paintMemory } from "./paint.ts";
import { decodePlan, describePlace, nodesAt } from "./plan.ts";
import { chain, chainFrame, doubles, frameOf } from "./testing.ts";

test("columns that do not fit together are refused in a sentence", () => {
  const good = chain(3);
  assert.equal(decodePlan(good).peakStep, 2);
  assert.throws(() => decodePlan({ ...good, step: { ...good.step!, live: doubles([1]) } }), /do not fit together/);
  assert.throws(() => decodePlan({ ...good, tensor: { ...good.tensor!, row: [0, 1, 2] } }), /do not fit together/);
  assert.equal(decodePlan({}).steps, 0);
});

test("a block has its size, its producer and its readers; a kernel its live bytes", () => {
  const plan = decodePlan(chain(3));
  assert.deepEqual(describePlace(plan, { row: 0, item: 0 }), [
    "t0",
    "intermediate, 1 kB, float32",
    "written by kernel 0: kernel_0",
    "read by kernel 1: kernel_1",
    "storage",
  ]);
  assert.deepEqual(describePlace(plan, { row: -1, item: 2 }), [
    "kernel 2: kernel_2",
    "5 kB live (the peak), 6 kB held",
  ]);
  assert.deepEqual(nodesAt(plan, { row: -1, item: 2 }), [2]);
});

test("every block is hit in its middle", () => {
  for (const steps of [1, 3, 40]) {
    const frame = chainFrame(steps);
    const { plan } = frame;
    for (const [row, tensors] of plan.inRow.entries())
      for (const item of tensors) {
        const x = (xOf(frame, plan.tensor.born[item]!) + xOf(frame, plan.tensor.dies[item]! + 1)) / 2;
        const y = (rowTop(frame, row) + rowTop(frame, row + 1)) / 2;
        assert.deepEqual(placeAt(frame, x, y), { row, item });
      }
    assert.deepEqual(placeAt(frame, xOf(frame, 0.5), 40), { row: -1, item: 0 });
    assert.equal(placeAt(frame, 10, 300), null);
  }
});

test("rows are as high as they are large, down to one that is readable", () => {
  const payload = chain(4);
  const plan = decodePlan({ ...payload, row: { ...payload.row!, bytes: doubles([1_000_000, 1]) } });
  const { tops, raised } = scaleOf([plan], { width: 800, height: 400 });
  assert.ok(raised);
  assert.equal(tops[0]![2]! - tops[0]![1]!, 14);
  const equal = scaleOf([decodePlan(payload)], { width: 800, height: 400 });
  assert.ok(!equal.raised);
});

test("rows that do not fit are scrolled", () => {
  const payload = chain(2);
  const bytes = doubles(Array(200).fill(1000));
  const row = { bytes, label_s: Array(200).fill(1) };
  const frame = frameOf([decodePlan({ ...payload, row, tensor: { ...payload.tensor!, row: [0, 199] } })]);
  assert.ok(rowTop(frame, 199) > frame.view.height);
  const window = clampWindow(windowWith(frame, { row: 199, item: 1 }), frame.scale, frame.view);
  const there = { ...frame, window };
  assert.ok(rowTop(there, 200) <= frame.view.height);
  const back = windowWith(there, { row: 0, item: 0 });
  assert.equal(clampWindow(back, frame.scale, frame.view).top, 0);
});

test("two plans have one scale", () => {
  const [small, large] = [decodePlan(chain(2)), decodePlan(chain(8))];
  const scale = scaleOf([small, large], { width: 800, height: 400 });
  assert.deepEqual([scale.last, scale.most], [8, 16_000]);
  const height = (which: number) => scale.tops[which]![1]!;
  assert.equal(height(1), 4 * height(0));
  const [a, b] = [frameOf([small, large], 0), frameOf([small, large], 1)];
  assert.equal(xOf(a, 2), xOf(b, 2));
});

test("the zoom keeps the step under the pointer, and the window stays in the plan", () => {
  const frame = chainFrame(100);
  const at = (300 - xOf(frame, 0)) / (xOf(frame, 1) - xOf(frame, 0));
  const near = { ...frame, window: clampWindow(zoomWindow(frame, 300, 5), frame.scale, frame.view) };
  assert.ok(Math.abs(xOf(near, at) - 300) < 1e-9);
  assert.ok(Math.abs(near.window.end - near.window.start - 20) < 1e-9);
  const odd = clampWindow({ start: 500, end: 400, top: -9 }, frame.scale, frame.view);
  assert.ok(odd.start >= 0 && odd.end <= 100 && odd.end > odd.start && odd.top === 0);
});

test("the arrow keys reach every block and every kernel", () => {
  const { plan } = chainFrame(6);
  let place = moved(plan, null, "ArrowDown")!;
  assert.deepEqual(place, { row: -1, item: plan.peakStep }, "first the peak");
  const seen = new Set<number>();
  for (const key of [
    "Home",
    "ArrowDown",
    ...Array<string>(5).fill("ArrowRight"),
    "ArrowDown",
    "Home",
    ...Array<string>(5).fill("ArrowRight"),
  ]) {
    place = moved(plan, place, key)!;
    if (place.row >= 0) seen.add(place.item);
  }
  assert.deepEqual([...seen].sort(), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(moved(plan, { row: 0, item: 0 }, "ArrowUp"), { row: -1, item: 0 });
  assert.deepEqual(moved(plan, { row: 1, item: 5 }, "ArrowDown"), { row: 1, item: 5 }, "the last row is the end");
});

test("the window follows the keyboard", () => {
  const frame = chainFrame(100);
  const near = { ...frame, window: { start: 0, end: 10, top: 0 } };
  const place = { row: 1, item: 61 };
  const { start, end } = windowWith(near, place);
  assert.ok(start <= 61 && 62 <= end && end - start === 10);
});

test("the picture has names, sizes and the peak as text, and no markup of a name", () => {
  const pen = new SvgPen();
  paintMemory(pen, 1, chainFrame(4, "<b>"));
  const svg = pen.take();
  assert.ok(svg.includes("&lt;b&gt;0") && !svg.includes("<b>"));
  assert.match(svg, />7 kB live: kernel_3</);
  assert.match(svg, />3 kernel_3</);
});

test("of a name that does not fit, the layers are left out", () => {
  const texts = (steps: number) => {
    const pen = new SvgPen();
    paintMemory(pen, 1, chainFrame(steps, "encoder.layer.0.attention.add"));
    return pen.take();
  };
  assert.match(texts(2), />encoder\.layer\.0\.attention\.add0</);
  assert.match(texts(12), />add0</);
});

test("narrow blocks are drawn together, and apart where the window is near", () => {
  const drawn = (start: number, end: number) => {
    const pen = new SvgPen();
    const frame = chainFrame(10_000);
    paintMemory(pen, 1, { ...frame, window: { start, end, top: 0 } });
    return pen.take().split("\n").length;
  };
  assert.ok(drawn(0, 10_000) < 2500, "less than three for each pixel");
  assert.ok(drawn(5000, 5020) > 40);
});
