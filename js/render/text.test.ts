import assert from "node:assert/strict";
import test from "node:test";
import { oneLine, Ruler } from "./text.ts";

const ruler = new Ruler((c) => (c === "…" ? 1 : 0.5));

test("text that fits is left alone", () => {
  assert.equal(ruler.fit("relu", 20, 10), "relu");
});

test("text that does not fit ends in an ellipsis and is never wider than its room", () => {
  for (let room = 0; room < 80; room++) {
    const cut = ruler.fit("nn.batch_norm_and_more", room, 10);
    assert.ok(ruler.width(cut, 10) <= room || cut === "", `${room}: ${cut}`);
  }
  assert.equal(ruler.fit("nn.batch_norm", 40, 10), "nn.bat…");
});

test("no blank before the ellipsis, and nothing at all where one letter has no room", () => {
  assert.equal(ruler.fit("a b c d e f", 30, 10), "a b…");
  assert.equal(ruler.fit("wide", 5, 10), "");
});

test("a character of two code units is never cut in half", () => {
  const cut = ruler.fit("😀😀😀😀", 17, 10);
  assert.ok(cut === "" || [...cut].every((c) => c === "😀" || c === "…"));
});

test("controls and direction marks become one blank, and a page of text a line", () => {
  assert.equal(oneLine("a\n\u202e\u0007b"), "a b");
  assert.equal(oneLine("x".repeat(10000)).length, 300);
  assert.equal(oneLine("kernels that are ready", 20), "kernels that are…");
});
