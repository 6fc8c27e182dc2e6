import assert from "node:assert/strict";
import { test } from "node:test";
import { all, draw, drawn, halfStage, texts } from "../dom_testing.ts";
import { compare } from "../graph/picture.ts";
import { parallelCast } from "../graph/testing.ts";
import { Changes, Chips } from "./chips.tsx";

test("each kind of change is counted, and a click goes from one node to the next", async () => {
  const { before, after, diff } = parallelCast();
  const stage = halfStage();
  const shown: number[][] = [];
  stage.reveal = async (nodes) => void shown.push([...nodes]);
  await draw(<Chips stage={stage} changes={new Changes(stage)} />);
  assert.equal(all("button").length, 0);
  stage.picture = compare(before, after, diff);
  stage.events.emit("select", { nodes: [] });
  await drawn();
  const chips = texts("button");
  assert.deepEqual(chips, ["2 merged"], "as many as the badge of the pass");
  const merged = document.querySelector<HTMLButtonElement>("[data-testid=chip-merged]");
  merged?.click();
  merged?.click();
  assert.equal(shown.length, 2);
  assert.notDeepEqual(shown[0], shown[1]);
});
