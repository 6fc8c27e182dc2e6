import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { all, draw, halfStage, sent } from "../dom_testing.ts";
import { type ToPython } from "../model/messages.ts";
import { type Model } from "../model/model.ts";
import { PrintedText } from "./printed_text.tsx";

const stage = halfStage();
let hear: (message: unknown, buffers: unknown[]) => void = () => undefined;
let seq = 1;

const model = {
  get: () => seq,
  send: (message: ToPython) => sent.push(message),
  on: (_: string, heard: typeof hear) => {
    hear = heard;
  },
  off: () => undefined,
} as unknown as Model;
const LINES = new Uint32Array(0).buffer;
const sides = ["x = exp(<b>)", "y = tanh(<b>)"].map((text) => ({ text, lines: new Uint8Array(LINES) }));

beforeEach(() => {
  seq = 1;
});

async function show(open: boolean, saved?: typeof sides): Promise<string> {
  await draw(<PrintedText model={model} stage={stage} seq={seq} saved={saved} open={open} />);
  return document.body.textContent;
}

test("the texts are asked for when the tab is open, once for a picture", async () => {
  assert.match(await show(false), /Open this tab/);
  assert.deepEqual(sent, []);
  assert.match(await show(true), /Loading the text/);
  await show(true);
  assert.deepEqual(sent, [{ type: "text", seq: 1 }]);
  hear({ type: "texts", seq: 1, sides: sides.map(({ text }) => ({ text, lines: { buffer: 0 } })) }, [
    new DataView(LINES),
  ]);
  assert.match(await show(true), /x = exp\(<b>\)/);
  assert.equal(all("b").length, 0);
});

test("texts of an older picture are not shown", async () => {
  await show(true);
  seq = 2;
  hear({ type: "texts", seq: 1, sides }, []);
  assert.match(await show(true), /Loading the text/);
  assert.deepEqual(sent, [
    { type: "text", seq: 1 },
    { type: "text", seq: 2 },
  ]);
});

test("a saved page has its texts, or the reason for none", async () => {
  assert.match(await show(true, sides), /y = tanh/);
  assert.deepEqual(sent, []);
  await draw(null);
  assert.match(await show(true, []), /no picture yet when this page was saved/);
});
