import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { all, click, draw, drawn, halfStage, part, press, texts } from "../dom_testing.ts";
import { compare, single } from "../graph/picture.ts";
import { graph, parallelCast } from "../graph/testing.ts";
import { PAPER } from "../render/paper.ts";
import { SavedModel } from "../standalone.ts";
import { Legend, LegendPanel, LegendToggle } from "./legend.tsx";

const HOSTILE = '<img src=x onerror="globalThis.broken = 1">';
const LABELS = ["x", "nn.dense", "nn.relu", "nn.relu", HOSTILE];
const NODES = LABELS.map((label, i) => ({ label, ...(i > 0 ? { inputs: [i - 1] } : { kind: "param" as const }) }));

async function opened(traits: Record<string, unknown> = {}, picture = single(graph(NODES))) {
  const model = new SavedModel({ legend: true, muted: [], direction: "down", ...traits });
  const stage = halfStage();
  stage.picture = picture;
  const legend = new Legend(stage, { themes: signal(PAPER) });
  legend.bind(model);
  await draw([<LegendToggle key={0} legend={legend} />, <LegendPanel key={1} legend={legend} />]);
  return model;
}

test("each op type has its number and a switch, most frequent first", async () => {
  const model = await opened();
  const rows = texts("section:nth-of-type(2) .wb-legend-row");
  assert.equal(rows[0], "nn.reluonly2");
  await click("shown-nn.relu");
  assert.deepEqual(model.get("muted"), ["nn.relu"]);
  assert.equal(part<HTMLInputElement>("shown-nn.relu").checked, false);
  await click("all-Operators");
  assert.deepEqual(model.get("muted"), []);
});

test("only mutes the other rows of its section and keeps what other sections mute", async () => {
  const model = await opened({ muted: ["param"] });
  part("only-nn.relu").click();
  assert.deepEqual([...(model.get("muted") as string[])].sort(), [HOSTILE, "nn.dense", "param"].sort());
});

test("a trait that Python sets is shown", async () => {
  const model = await opened();
  model.set("muted", ["nn.dense"]);
  model.set("direction", "right");
  await drawn();
  assert.equal(part<HTMLInputElement>("shown-nn.dense").checked, false);
  assert.equal(part("direction-right").getAttribute("aria-pressed"), "true");
});

test("the button opens and closes it", async () => {
  const model = await opened({ legend: false });
  assert.equal(part("legend").hidden, true);
  await click("legend-toggle");
  assert.equal(model.get("legend"), true);
  assert.equal(part("legend").hidden, false);
  assert.equal(part("legend-toggle").getAttribute("aria-expanded"), "true");
});

test("a section is one tab stop, and arrows move in it", async () => {
  await opened();
  const stops = all<HTMLElement>("section:nth-of-type(2) :is(input, .wb-only)");
  assert.equal(stops.filter((stop) => stop.tabIndex === 0).length, 1);
  part("shown-nn.relu").focus();
  await press("ArrowRight");
  assert.equal(document.activeElement, part("only-nn.relu"));
  await press("ArrowDown");
  await press("ArrowLeft");
  const rows = all("section:nth-of-type(2) .wb-legend-row");
  assert.equal(document.activeElement?.closest(".wb-legend-row"), rows[1]);
  await press("Home");
  assert.equal(document.activeElement, part("shown-nn.relu"));
  assert.equal(part("shown-nn.relu").tabIndex, 0);
});

test("the focus stays on a switch that was pressed", async () => {
  await opened();
  part("shown-nn.relu").focus();
  await click("shown-nn.relu");
  assert.equal(document.activeElement, part("shown-nn.relu"));
});

test("a comparison counts its marks", async () => {
  const { before, after, diff } = parallelCast();
  const model = await opened({}, compare(before, after, diff));
  part("shown-mark:merged").click();
  assert.deepEqual(model.get("muted"), ["mark:merged"]);
});

test("a hostile name is text", async () => {
  await opened();
  assert.equal(all("img").length, 0);
  assert.match(document.body.textContent, /<img src=x/);
});
