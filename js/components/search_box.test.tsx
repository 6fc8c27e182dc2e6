import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, drawn, halfStage, one } from "../dom_testing.ts";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { Search, SearchBox } from "./search_box.tsx";

async function opened() {
  const stage = halfStage();
  stage.picture = single(graph("nn.relu | tanh | nn.relu"));
  const shown: number[] = [];
  stage.reveal = async ([node]) => void shown.push(node ?? -1);
  const search = new Search(stage);
  await draw(<SearchBox search={search} />);
  const input = document.querySelector("input");
  assert.ok(input);
  const type = async (words: string) => {
    input.value = words;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn();
  };
  const press = async (key: string, shiftKey = false) => {
    input.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
    await drawn();
  };
  const count = () => one("[data-testid=found]").textContent;
  return { stage, search, shown, input, type, press, count };
}

test("it finds as one types, and Enter goes round", async () => {
  const { shown, type, press, count } = await opened();
  await type("op:relu");
  assert.equal(count(), "2");
  await press("Enter");
  assert.equal(count(), "1 / 2");
  await press("Enter");
  await press("Enter");
  assert.deepEqual(shown, [0, 2, 0]);
  await press("Enter", true);
  assert.equal(shown.at(-1), 2);
});

test("Shift + Enter begins with the last one", async () => {
  const { shown, type, press } = await opened();
  await type("relu");
  await press("Enter", true);
  assert.deepEqual(shown, [2]);
});

test("a search without a result says so, and blanks search for nothing", async () => {
  const { type, count } = await opened();
  await type("conv2d");
  assert.equal(count(), "none");
  await type("  ");
  assert.equal(count(), "");
});

test("Escape empties it and gives the keys back", async () => {
  const { search, input, type, press, count } = await opened();
  let left = 0;
  search.onleave = () => left++;
  await type("tanh");
  await press("Escape");
  assert.deepEqual([input.value, count(), left], ["", "", 1]);
});

test("a new scene is searched again", async () => {
  const { stage, type, count } = await opened();
  await type("tanh");
  assert.equal(count(), "1");
  await stage.setPicture(single(graph("tanh | tanh")));
  await drawn();
  assert.equal(count(), "2");
});

test("a new scene of the same picture keeps the place", async () => {
  const { stage, type, press, count } = await opened();
  await stage.setPicture(stage.picture);
  await type("relu");
  await press("Enter");
  await press("Enter");
  await stage.setOptions({ collapsed: new Set() });
  await drawn();
  assert.equal(count(), "2 / 2");
  assert.equal(stage.look.found?.size, 2);
});
