import assert from "node:assert/strict";
import { test } from "node:test";
import { mount } from "../components/mount.tsx";
import { drawn } from "../dom_testing.ts";
import { compare } from "../graph/picture.ts";
import { parallelCast } from "../graph/testing.ts";
import { Stage } from "../render/stage.ts";
import { Ruler } from "../render/text.ts";
import { Changes, Chips } from "./chips.tsx";

test("each kind of change is counted, and a click goes from one node to the next", async () => {
  const { before, after, diff } = parallelCast();
  const stage = new Stage(new Ruler(() => 0.5));
  const shown: number[][] = [];
  stage.reveal = async (nodes) => void shown.push([...nodes]);
  mount(<Chips stage={stage} changes={new Changes(stage)} />, document.body);
  await drawn();
  assert.equal(document.querySelectorAll("button").length, 0);
  stage.picture = compare(before, after, diff);
  stage.events.emit("select", { nodes: [] });
  await drawn();
  const chips = [...document.querySelectorAll("button")].map((chip) => chip.textContent);
  assert.deepEqual(chips, ["2 merged"], "as many as the badge of the pass");
  const merged = document.querySelector<HTMLButtonElement>("[data-testid=chip-merged]");
  merged?.click();
  merged?.click();
  assert.equal(shown.length, 2);
  assert.notDeepEqual(shown[0], shown[1]);
});
