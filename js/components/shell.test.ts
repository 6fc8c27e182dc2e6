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
