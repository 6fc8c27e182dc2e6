import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn, one, TestModel } from "../dom_testing.ts";
import { type Block } from "../model/messages.ts";
import { tune } from "./tune.tsx";

const SORTED = { sort: "", sorted: -1, down: false };
const table = (lines: string[][]): Block => {
  const rows = [["candidate", "kernels"], ...lines];
  return { t: "table", rows, name: "trials", act: "pick", ...SORTED, marked: [], args: lines.map(([id = ""]) => id) };
};

test("a click that begins on a row of a growing table ends on it", async () => {
  const model = new TestModel({ blocks: [table([["1", "5"]])], height: 400 });
  const end = tune(model, document.body);
  const root = one(".wb-tune");
  assert.equal(root.style.maxHeight, "400px");
  const row = root.querySelector("tbody tr")!;
  model.set("blocks", [
    table([
      ["2", "3"],
      ["1", "5"],
    ]),
  ]);
  model.set("height", 500);
  await drawn();
  assert.equal(root.querySelectorAll("tbody tr")[1], row);
  assert.equal(root.style.maxHeight, "500px");
  row.querySelector("button")!.click();
  assert.deepEqual(model.sent, [{ type: "act", what: "pick", arg: "1" }]);
  end();
});
