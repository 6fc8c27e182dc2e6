import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { signal } from "@preact/signals";
import { drawn } from "../dom_testing.ts";
import { type Keyed, KeysCard } from "./keys_card.tsx";
import { mount } from "./mount.tsx";

let end = () => {};
beforeEach(() => end());

async function opened() {
  let back = 0;
  const helping = signal(true);
  const view = { helping, rows: [{ does: "changed only", act: { c: () => undefined } }], focus: () => back++ };
  const Page = () => <KeysCard view={view as unknown as Keyed} />;
  end = mount(<Page />, document.body);
  await drawn();
  const card = document.querySelector<HTMLElement>("[data-testid=keys]");
  assert.ok(card);
  const press = (key: string) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    card.dispatchEvent(event);
    return event.defaultPrevented;
  };
  return { card, press, closed: () => !helping.value, back: () => back };
}

test("arrow and page keys scroll it, Escape closes it", async () => {
  const { card, press, closed, back } = await opened();
  assert.equal(document.activeElement, card);
  for (const key of ["ArrowDown", "PageDown", "End", " "]) assert.equal(press(key), false);
  assert.equal(closed(), false);
  assert.equal(press("Escape"), true);
  assert.deepEqual([closed(), back()], [true, 1]);
});

test("it closes with its button, and leaves the focus to what was clicked", async () => {
  const { card, closed, back } = await opened();
  const button = card.querySelector("button");
  card.dispatchEvent(new FocusEvent("focusout", { relatedTarget: button, bubbles: true }));
  assert.equal(closed(), false);
  button?.click();
  assert.deepEqual([closed(), back()], [true, 1]);
  end();
  const again = await opened();
  again.card.dispatchEvent(new FocusEvent("focusout", { relatedTarget: document.body, bubbles: true }));
  assert.deepEqual([again.closed(), again.back()], [true, 0]);
});
