import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { SavedModel } from "../standalone.ts";
import { type Place, type ToPage } from "./messages.ts";
import { SavedTrace } from "./saved_trace.ts";

const place = (state: number): Place => ({ state, step: state, ids: [1], ops: ["exp"], kernels: [], sure: "span" });
const pack = (chunk: unknown) => gzipSync(JSON.stringify(chunk)).toString("base64");
const FACTS = { type: "facts", state: 0, nodes: 3, ops: 2, kernels: 1 };
const SAVED = {
  chunks: [
    pack({ "facts,0": FACTS }),
    pack({ "lineages,1": [0, 1], "lineage,0": [place(0)], "lineage,1": [place(1)] }),
    "damaged",
  ],
  places: { "facts,0": 0, "lineages,1": 1, "lineage,0": 1, "lineage,1": 1, "state,0": 2 },
  absent: { diff: "Pin the two steps in the notebook and save the page again." },
};

test("an answer is the message in the file", async () => {
  const trace = new SavedTrace(SAVED);
  assert.deepEqual(await trace.answer(["facts", 0]), FACTS);
  assert.deepEqual(await trace.answer(["lineage", 1, 1]), {
    type: "lineage",
    state: 1,
    node: 1,
    places: [place(1)],
  });
});

test("what the file does not have is lost, with the reason", async () => {
  const trace = new SavedTrace(SAVED);
  const texts = await Promise.all(
    [
      ["diff", 3, 9],
      ["lineage", 1, 7],
      ["lineage", 0, 0],
      ["text", 8],
      ["state", 0],
    ].map((wish) => trace.answer(wish)),
  );
  assert.deepEqual(
    texts.map((answer) => (answer.type === "lost" ? answer.text : "")),
    [
      "Pin the two steps in the notebook and save the page again.",
      "This saved page does not have it.",
      "This saved page does not have it.",
      "This saved page does not have it.",
      "This part of the page is damaged: save it again.",
    ],
  );
});

test("the model of a saved page answers a request in order", async () => {
  const model = new SavedModel({ saved_trace: SAVED });
  const heard: string[] = [];
  await new Promise<void>((done) => {
    model.on("msg:custom", (message: ToPage) => {
      heard.push(message.type);
      if (heard.length === 2) done();
    });
    model.send({
      type: "want",
      items: [
        ["facts", 0],
        ["diff", 0, 1],
      ],
    });
  });
  assert.deepEqual(heard, ["facts", "lost"]);
});
