import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, drawn, one } from "../dom_testing.ts";
import { StepSlider } from "./step_slider.tsx";

const STEPS = [
  { name: "A", status: "changed", seconds: 0.0015 },
  { name: "B", status: "same" },
  { name: "C", status: "off" },
  { name: "D", status: "error" },
];
const slider = () => document.querySelector<HTMLInputElement>("[data-testid=step-slider]") as HTMLInputElement;
const words = () => one(".wb-step-words").textContent;
const button = (label: string) => document.querySelector<HTMLElement>(`[aria-label="${label}"]`);

async function show(step: number, rest = 0, steps = STEPS): Promise<number[]> {
  const asked: number[] = [];
  await draw(<StepSlider steps={steps} step={step} rest={rest} onStep={(at) => asked.push(at)} />);
  return asked;
}

function drag(to: number): void {
  slider().value = String(to);
  slider().dispatchEvent(new Event("input", { bubbles: true }));
}

test("names the step, its time, and what there is to say of it", async () => {
  await show(0);
  assert.equal(words(), "1 / 4  A · 1.5 ms");
  assert.equal(slider().getAttribute("aria-valuetext"), words());
  await show(2);
  assert.equal(words(), "3 / 4  C · off");
  await show(-1);
  assert.equal(words(), "All 4 passes");
});

test("a drag shows each step, and asks for the last", async () => {
  const asked = await show(-1, 20);
  drag(0);
  drag(3);
  await drawn();
  assert.equal(words(), "4 / 4  D · failed");
  assert.deepEqual(asked, []);
  await new Promise((done) => setTimeout(done, 40));
  assert.deepEqual(asked, [3]);
});

test("without a rest each step is asked for at once", async () => {
  const asked = await show(-1);
  drag(1);
  assert.deepEqual(asked, [1]);
});

test("the buttons jump over passes without an effect", async () => {
  const asked = await show(0);
  button("Next pass that changed something")?.click();
  button("Previous pass that changed something")?.click();
  button("Whole pipeline")?.click();
  assert.deepEqual(asked, [3, -1, -1]);
});

test("the buttons stop at a pass that changed the outputs", async () => {
  const asked = await show(-1, 0, [
    { name: "A", status: "same" },
    { name: "B", status: "wrong" },
    { name: "C", status: "changed" },
  ]);
  button("Next pass that changed something")?.click();
  assert.deepEqual(asked, [1]);
});

test("without passes it cannot be moved", async () => {
  await show(-1, 0, []);
  assert.equal(slider().disabled, true);
  assert.equal(words(), "All 0 passes");
});
