import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { drawn } from "../dom_testing.ts";
import { KeysCard, keysOf } from "./keys_card.tsx";
import { mount } from "./mount.tsx";

let end = () => {};
beforeEach(() => end());

async function opened(view: string) {
  let closed = 0;
  let back = 0;
  end = mount(<KeysCard view={view} close={() => closed++} goBack={() => back++} />, document.body);
  await drawn();
  const card = document.querySelector<HTMLElement>("[data-testid=keys]");
  assert.ok(card);
  const press = (key: string) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    card.dispatchEvent(event);
    return event.defaultPrevented;
  };
  return { card, press, closed: () => closed, back: () => back };
}

test("a view lists its own keys only", () => {
  const has = (view: string, words: RegExp) => keysOf(view).some(([, does]) => words.test(does));
  assert.ok(!has("graph-view", /changed only|undo|previous step|boundary/));
  assert.ok(has("compare-view", /changed only/) && !has("compare-view", /undo|previous step/));
  assert.ok(has("stepper", /previous step/) && !has("stepper", /undo/));
  assert.ok(has("workbench", /undo/) && !has("workbench", /previous step/));
  assert.ok(has("fusion", /boundary/) && !has("fusion", /changed only/));
});

test("arrow and page keys scroll it, Escape closes it", async () => {
  const { card, press, closed, back } = await opened("workbench");
  assert.equal(document.activeElement, card);
  for (const key of ["ArrowDown", "PageDown", "End", " "]) assert.equal(press(key), false);
  assert.equal(closed(), 0);
  assert.equal(press("Escape"), true);
  assert.deepEqual([closed(), back()], [1, 1]);
});

test("it closes with its button, and leaves the focus to what was clicked", async () => {
  const { card, closed, back } = await opened("graph-view");
  const button = card.querySelector("button");
  card.dispatchEvent(new FocusEvent("focusout", { relatedTarget: button, bubbles: true }));
  assert.equal(closed(), 0);
  button?.click();
  assert.deepEqual([closed(), back()], [1, 1]);
  card.dispatchEvent(new FocusEvent("focusout", { relatedTarget: document.body, bubbles: true }));
  assert.deepEqual([closed(), back()], [2, 1]);
});
