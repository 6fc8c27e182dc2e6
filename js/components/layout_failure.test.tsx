import assert from "node:assert/strict";
import { test } from "node:test";
import { all, drawn, halfStage, part } from "../dom_testing.ts";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { LayoutFailure, report } from "./layout_failure.tsx";
import { mount } from "./mount.tsx";

test("a layout that throws is shown in words, and the report holds nothing of the graph", async () => {
  const stage = halfStage();
  const end = mount(<LayoutFailure stage={stage} />, document.body);
  stage.ruler.width = () => {
    throw new Error("no room");
  };
  await stage.setPicture(
    single(
      graph([
        { label: "secret_op", name: "secret_name" },
        { label: "tanh", inputs: [0] },
      ]),
    ),
  );
  await drawn();
  const card = document.querySelector("[data-testid=layout-failure]");
  assert.match(card?.textContent ?? "", /cannot be arranged.*no room/);
  const text = report(stage, new Error("no room"));
  assert.match(text, /2 nodes, 1 edge, 0 groups/);
  assert.match(text, /version: \d/);
  assert.doesNotMatch(text, /secret|tanh|float32/);
  end();
});

test("Try again arranges the graph, and the words go", async () => {
  const stage = halfStage();
  const end = mount(<LayoutFailure stage={stage} />, document.body);
  const { width } = stage.ruler;
  stage.ruler.width = () => {
    throw new Error("no room");
  };
  await stage.setPicture(single(graph("tanh")));
  await drawn();
  stage.ruler.width = width;
  const arranged = new Promise((done) => stage.events.on("scene", done));
  part("arrange-again").click();
  await arranged;
  await drawn();
  assert.equal(all("[data-testid=layout-failure]").length, 0);
  end();
});
