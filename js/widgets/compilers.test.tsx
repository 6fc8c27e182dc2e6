import assert from "node:assert/strict";
import { test } from "node:test";
import { all, drawn, TestModel, texts } from "../dom_testing.ts";
import { payload } from "../graph/testing.ts";
import { compilers } from "./compilers.tsx";

const line = (text: string, nodes: number[], after: number[]) => ({
  ...{ text, nodes, after, small: "", sign: "", look: "", act: "", arg: "", drop: "" },
});

/** Of three kernels on the left, the first two are one on the right, where a fourth is alone. */
async function show() {
  const model = new TestModel({
    before: payload("mean | subtract 0 | relu 1"),
    after: payload("layer_norm | reshape | relu 0 1"),
    diff: { before_mark: [4, 4, 0], after_mark: [4, 3, 0], pairs: [0, 0, 1, 0, 2, 2] },
    titles: ["Relay", "<b>Relax"],
    blocks: [{ t: "rows", name: "differences", rows: [line("norm <i>", [0, 1], [0]), line("reshape", [], [1])] }],
    saved: true,
  } as never);
  document.body.replaceChildren();
  const end = compilers(model, document.body);
  await drawn();
  return { model, end, lines: all<HTMLElement>(".wb-compilers-list .wb-link") };
}

test("a line selects its kernels on both sides, also in a saved page", async () => {
  const { model, end, lines } = await show();
  assert.deepEqual(
    lines.map((each) => each.textContent),
    ["norm <i>", "reshape"],
  );
  lines[0]?.click();
  await drawn();
  assert.deepEqual(model.get("selection"), { before: [0, 1], after: [0] });
  lines[1]?.click();
  await drawn();
  assert.deepEqual(model.get("selection"), { before: [], after: [1] });
  end();
  assert.equal(all(".wb").length, 0);
});

test("kernels of one side are named by its title, not as removed or added", async () => {
  const { end } = await show();
  const chips = texts(".wb-chip");
  assert.ok(
    chips.some((text) => text?.endsWith("1 only <b>Relax")),
    String(chips),
  );
  assert.ok(!chips.some((text) => /removed|added/.test(text ?? "")), String(chips));
  end();
});
