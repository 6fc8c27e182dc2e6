import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, draw, drawn, halfStage, part } from "../dom_testing.ts";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { LayoutFailure, report } from "./layout_failure.tsx";

/** A stage whose layout throws, until `mend` is called. */
async function failing() {
  const stage = halfStage();
  const { width } = stage.ruler;
  stage.ruler.width = () => {
    throw new Error("no room");
  };
  await draw(<LayoutFailure stage={stage} />);
  const nodes = [{ label: "secret_op", name: "secret_name" }, ...["tanh"].map((label) => ({ label, inputs: [0] }))];
  await stage.setPicture(single(graph(nodes)));
  await drawn();
  const mend = () => {
    stage.ruler.width = width;
    return new Promise((done) => stage.events.on("scene", done));
  };
  return { stage, mend };
}

test("a layout that throws is shown in words, and the report holds nothing of the graph", async () => {
  const { stage } = await failing();
  assert.match(part("layout-failure").textContent, /cannot be arranged.*no room/);
  const text = report(stage, new Error("no room"));
  assert.match(text, /2 nodes, 1 edge, 0 groups/);
  assert.match(text, /version: \d/);
  assert.doesNotMatch(text, /secret|tanh|float32/);
});

for (const next of ["Try again", "the next picture"])
  test(`${next} arranges a graph, and the words go`, async () => {
    const { stage, mend } = await failing();
    const arranged = mend();
    if (next === "Try again") await click("arrange-again");
    else void stage.setPicture(single(graph("exp | tanh 0 | exp 1")));
    await arranged;
    await drawn();
    assert.equal(all("[data-testid=layout-failure]").length, 0);
    assert.equal(stage.scene?.visible.count, next === "Try again" ? 2 : 3);
  });
