import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { signal } from "@preact/signals";
import { drawn } from "../dom_testing.ts";
import { compare, single } from "../graph/picture.ts";
import { graph, parallelCast } from "../graph/testing.ts";
import { PAPER } from "../render/paper.ts";
import { Stage } from "../render/stage.ts";
import { Ruler } from "../render/text.ts";
import { SavedModel } from "../standalone.ts";
import { Legend, LegendPanel, LegendToggle } from "./legend.tsx";
import { mount } from "./mount.tsx";

const HOSTILE = '<img src=x onerror="globalThis.broken = 1">';
const NODES = [
  { label: "x", kind: "param" as const },
  { label: "nn.dense", inputs: [0] },
  { label: "nn.relu", inputs: [1] },
  { label: "nn.relu", inputs: [2] },
  { label: HOSTILE, inputs: [3] },
];

let end = () => {};
beforeEach(() => end());

async function opened(traits: Record<string, unknown> = {}, picture = single(graph(NODES))) {
  const model = new SavedModel({ legend: true, muted: [], direction: "down", ...traits });
  const stage = new Stage(new Ruler(() => 0.5));
  stage.picture = picture;
  const legend = new Legend(stage, { themes: signal(PAPER) });
  legend.bind(model);
  end = mount(
    <>
      <LegendToggle legend={legend} />
      <LegendPanel legend={legend} />
    </>,
    document.body,
  );
  await drawn();
  return model;
}

function part(name: string): HTMLInputElement {
  const found = [...document.querySelectorAll<HTMLInputElement>("[data-testid]")].find(
    (e) => e.dataset.testid === name,
  );
  assert.ok(found, name);
  return found;
}

async function press(key: string): Promise<void> {
  document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await drawn();
}

test("each op type has its number and a switch, most frequent first", async () => {
  const model = await opened();
  const rows = [...document.querySelectorAll("section:nth-of-type(2) .wb-legend-row")].map((row) => row.textContent);
  assert.equal(rows[0], "nn.reluonly2");
  part("shown-nn.relu").click();
  await drawn();
  assert.deepEqual(model.get("muted"), ["nn.relu"]);
  assert.equal(part("shown-nn.relu").checked, false);
  part("all-Operators").click();
  await drawn();
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
  assert.equal(part("shown-nn.dense").checked, false);
  assert.equal(part("direction-right").getAttribute("aria-pressed"), "true");
});

test("the button opens and closes it", async () => {
  const model = await opened({ legend: false });
  assert.equal(part("legend").hidden, true);
  part("legend-toggle").click();
  await drawn();
  assert.equal(model.get("legend"), true);
  assert.equal(part("legend").hidden, false);
  assert.equal(part("legend-toggle").getAttribute("aria-expanded"), "true");
});

test("a section is one tab stop, and arrows move in it", async () => {
  await opened();
  const stops = [...document.querySelectorAll<HTMLElement>("section:nth-of-type(2) :is(input, .wb-only)")];
  assert.equal(stops.filter((stop) => stop.tabIndex === 0).length, 1);
  part("shown-nn.relu").focus();
  await press("ArrowRight");
  assert.equal(document.activeElement, part("only-nn.relu"));
  await press("ArrowDown");
  await press("ArrowLeft");
  const rows = [...document.querySelectorAll("section:nth-of-type(2) .wb-legend-row")];
  assert.equal(document.activeElement?.closest(".wb-legend-row"), rows[1]);
  await press("Home");
  assert.equal(document.activeElement, part("shown-nn.relu"));
  assert.equal(part("shown-nn.relu").tabIndex, 0);
});

test("the focus stays on a switch that was pressed", async () => {
  await opened();
  part("shown-nn.relu").focus();
  part("shown-nn.relu").click();
  await drawn();
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
  assert.equal(document.querySelector("img"), null);
  assert.match(document.body.textContent, /<img src=x/);
});
