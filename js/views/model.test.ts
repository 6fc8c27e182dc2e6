import assert from "node:assert/strict";
import test from "node:test";
import { type Model, whileConnected } from "./model.ts";

function failing(message: string): Model {
  const fail = () => {
    throw new Error(message);
  };
  return { get: () => undefined as never, set: () => undefined, on: () => undefined, off: () => undefined, save_changes: fail, send: fail };
}

test("a view of an ended kernel can send without an error", () => {
  const model = whileConnected(failing("Cannot send"));
  model.send({ type: "undo" });
  model.save_changes();
});

test("every other error of sending stays", () => {
  const model = whileConnected(failing("not serializable"));
  assert.throws(() => model.send({ type: "undo" }), /not serializable/);
  assert.throws(() => model.save_changes(), /not serializable/);
});
