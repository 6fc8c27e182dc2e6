import assert from "node:assert/strict";
import { test } from "node:test";
import { all, draw, part } from "../dom_testing.ts";
import { type Place, type StepState } from "../model/messages.ts";
import { Ribbon } from "./ribbon.tsx";

const place = (state: number, ids: number[], ops: string[], sure = "", kernels: string[] = []): Place => {
  return { state, step: state - 1, ids, ops, kernels, sure };
};
const STEPS = ["Fold", "Quiet", "Fuse", "Drop"].map((name) => ({ name }) as StepState);

async function show(places: Place[], shown: number[] = []): Promise<Place[]> {
  const picked: Place[] = [];
  await draw(<Ribbon places={places} steps={STEPS} shown={shown} onPick={(at) => picked.push(at)} />);
  return picked;
}

test("a stop for each change, and the pass and its certainty between", async () => {
  const picked = await show(
    [
      place(0, [1], ["nn.conv2d"]),
      place(1, [2], ["nn.conv2d"], "exact"),
      place(2, [2], ["nn.conv2d"], "exact"),
      place(3, [4], ["nn.conv2d"], "span", ["fused_conv"]),
    ],
    [2, 3],
  );
  assert.equal(all(".wb-ribbon-stop").length, 2);
  const link = document.querySelector<HTMLElement>(".wb-ribbon-link");
  assert.equal(link?.textContent, "Fusespan");
  assert.match(link?.title ?? "", /same place of the source.*\n2 passes before it/s);
  assert.match(part("ribbon")?.textContent ?? "", /ends in kernel fused_conv/);
  assert.match(part("ribbon-0")?.className ?? "", /wb-current/, "an untouched state on the screen is this stop");
  part("ribbon-3")?.click();
  assert.deepEqual(picked[0]?.ids, [4]);
});

test("a node that a pass made and another one removed", async () => {
  await show([place(0, [], []), place(1, [3], ["exp"]), place(2, [], [])]);
  assert.match(part("ribbon")?.textContent ?? "", /made here.*exp.*gone.*nothing of it is left at the end/);
});

test("without a selected node it is hidden", async () => {
  await show([]);
  assert.equal(part("ribbon")?.hidden, true);
});

test("names are text", async () => {
  await show([place(0, [1], ["<b>op</b>"], "", ["<img src=x>"])]);
  assert.equal(all("img, b").length, 0);
  assert.match(part("ribbon-0")?.textContent ?? "", /<b>op<\/b>/);
});
