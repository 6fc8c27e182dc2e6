import assert from "node:assert/strict";
import test from "node:test";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { type Frame } from "./frame.ts";
import { PAPER } from "./paper.ts";
import { Stage } from "./stage.ts";
import { graphDrawing, stillSvg } from "./still.ts";
import { Ruler } from "./text.ts";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => undefined;

async function frameOf(count: number, name = "op"): Promise<Frame> {
  const stage = new Stage(new Ruler(() => 0.5));
  const nodes = Array.from({ length: count }, (_, i) => ({ label: `${name}${i}`, inputs: i > 0 ? [i - 1] : [] }));
  await stage.setPicture(single(graph(nodes)), new Set());
  stage.look = { ...stage.look, hovered: 0 };
  const frame = stage.frameFor({ width: 300, height: 200 }, { ...PAPER, background: "#000" }, 1);
  stage.dispose();
  assert.ok(frame);
  return frame;
}

async function sheet(count: number, title: string, name = "op") {
  return { title, ...graphDrawing(await frameOf(count, name)) };
}

test("panes are beside each other or stacked, each under its title", async () => {
  const sheets = [await sheet(3, "before"), await sheet(3, "after")];
  assert.match(stillSvg(sheets, false), /^<svg [^>]*width="608" height="222"/);
  assert.match(stillSvg(sheets, true), /^<svg [^>]*width="300" height="452"/);
});

test("the colours are paper's, and what the pointer is on is left out", async () => {
  const frame = await frameOf(3);
  const svg = stillSvg([{ title: "", ...graphDrawing(frame) }], false);
  assert.ok(!svg.includes('"#000"'));
  const pointless = graphDrawing({ ...frame, look: { ...frame.look, hovered: -1 } });
  assert.equal(svg, stillSvg([{ title: "", ...pointless }], false));
});

test("names and titles are text, and a long title stays in its pane", async () => {
  const svg = stillSvg([await sheet(2, "<script>".repeat(40), '"><script>')], false);
  assert.ok(!svg.includes("<script"));
  assert.match(svg, /&lt;script&gt;.*…<\/text>/);
});

test("what is far outside of a pane is not drawn", async () => {
  const size = async (count: number) => stillSvg([await sheet(count, "")], false).length;
  assert.ok((await size(4000)) < 2 * (await size(40)));
});
