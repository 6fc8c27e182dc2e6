import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn } from "../dom_testing.ts";
import { Shell } from "./shell.tsx";

test("the end of one piece of work leaves the words of another", async () => {
  const shell = new Shell(document.body, "stepper");
  shell.say("Arranging 40 nodes", "layout");
  shell.say("Reading the graphs of this step …", "states");
  assert.equal(shell.status.textContent, "Reading the graphs of this step …", "the newest words are shown");
  shell.say("", "layout");
  assert.equal(shell.status.textContent, "Reading the graphs of this step …");
  shell.say("", "states");
  assert.equal(shell.status.textContent, "");
  shell.say("No graph yet.", "graph");
  shell.say("Copied 2 nodes");
  shell.say("Arranging 0 nodes", "layout");
  shell.say("", "layout");
  assert.equal(
    shell.status.textContent,
    "No graph yet.",
    "words that still hold come back, and those of a moment do not",
  );
  shell.dispose();
  await drawn();
});

test("the ring of the graph is off after a click only, until the next key or until the focus leaves", () => {
  const shell = new Shell(document.body, "graph");
  const off = () => shell.root.classList.contains("wb-pointer");
  assert.equal(off(), false, "the first Tab into a widget presses no key in it");
  for (const event of [new KeyboardEvent("keydown", { key: "f" }), new FocusEvent("focusout")]) {
    shell.root.dispatchEvent(new PointerEvent("pointerdown"));
    assert.equal(off(), true);
    shell.root.dispatchEvent(event);
    assert.equal(off(), false);
  }
  shell.dispose();
});
