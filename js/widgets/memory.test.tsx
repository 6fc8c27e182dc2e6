import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, drawn, one, part, TestModel } from "../dom_testing.ts";
import { chain } from "../render/memory/testing.ts";
import { memory } from "./memory.tsx";

/** A canvas has a size only in a browser. */
function sized(canvas: HTMLElement): void {
  Object.defineProperties(canvas, { clientWidth: { value: 800 }, clientHeight: { value: 400 } });
}

function show(traits: object) {
  const model = new TestModel({ headline: "<b>6 kB</b>", selection: [], viewport: {}, ...traits });
  document.body.replaceChildren();
  const end = memory(model, document.body);
  document.querySelectorAll<HTMLElement>("canvas").forEach(sized);
  return { model, end };
}

const press = (canvas: HTMLElement, ...keys: string[]) => {
  for (const key of keys) canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
};

test("the keyboard goes to the peak, along a row, and selects the nodes of a tensor", async () => {
  const { model, end } = show({ plans: [chain(4)] });
  await drawn();
  assert.equal(part("memory-headline").textContent, "<b>6 kB</b>");
  const canvas = part("memory-0");
  press(canvas, "p");
  await drawn();
  assert.match(part("memory-said").textContent, /^kernel 3: kernel_3 {2}· {2}7 kB live \(the peak\)/);
  press(canvas, "ArrowDown", "ArrowLeft", "Enter");
  await drawn();
  assert.match(part("memory-said").textContent, /^t0 {2}· {2}intermediate, 1 kB/);
  assert.deepEqual(model.get("selection"), [0]);
  press(canvas, "Escape");
  assert.deepEqual(model.get("selection"), []);
  end();
  assert.equal(all(".wb").length, 0);
});

test("a pointer selects a kernel on the curve; of two plans on its side", async () => {
  const { model, end } = show({ plans: [chain(4), chain(4)], selection: { before: [], after: [] } });
  await drawn();
  const canvas = part("memory-1");
  Object.assign(canvas, { setPointerCapture: () => undefined });
  for (const type of ["pointerdown", "pointerup"]) {
    const event = new PointerEvent(type, { pointerId: 1, button: 0, bubbles: true });
    Object.defineProperties(event, { offsetX: { value: 780 }, offsetY: { value: 40 } });
    canvas.dispatchEvent(event);
  }
  assert.deepEqual(model.get("selection"), { before: [], after: [3] });
  end();
});

test("the list selects too, and its lines are text", async () => {
  const line = { text: "<i>1: output", nodes: [1], small: "", sign: "", look: "", act: "", arg: "", drop: "" };
  const { model, end } = show({ plans: [chain(3)], blocks: [{ t: "rows", rows: [line], name: "tensors" }] });
  await drawn();
  const button = part("tensors").querySelector("button")!;
  assert.equal(button.textContent, "<i>1: output");
  button.click();
  assert.deepEqual(model.get("selection"), [1]);
  end();
});

test("the window is a trait", async () => {
  const { model, end } = show({ plans: [chain(100)] });
  await drawn();
  press(part("memory-0"), "+", "+");
  await drawn();
  const { start, end: last } = model.get("viewport") as { start: number; end: number };
  assert.ok(Math.abs(last - start - 100 / 1.96) < 1e-6);
  await click("fit");
  assert.deepEqual(model.get("viewport"), {});
  end();
});

test("a faulty plan is a sentence, and no plan is one too", async () => {
  const { model, end } = show({ plans: [{ ...chain(2), row: { bytes: [], label_s: [] } }] });
  await drawn();
  assert.match(one(".wb-nothing").textContent, /do not fit together/);
  model.set("plans", []);
  await drawn();
  assert.equal(one(".wb-nothing").textContent, "No kernels yet.");
  end();
});
