import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { draw, one, part, press } from "../dom_testing.ts";
import { type Keyed, KeysCard } from "./keys_card.tsx";

async function opened() {
  let back = 0;
  const helping = signal(true);
  const view = { helping, rows: [{ does: "changed only", act: { c: () => undefined } }], focus: () => back++ };
  const Page = () => <KeysCard view={view as unknown as Keyed} />;
  await draw(<Page />);
  const leaveTo = (relatedTarget: Element) =>
    part("keys").dispatchEvent(new FocusEvent("focusout", { relatedTarget, bubbles: true }));
  return { card: part("keys"), leaveTo, state: () => ({ closed: !helping.value, back }) };
}

test("arrow and page keys scroll it, Escape closes it", async () => {
  const { card, state } = await opened();
  assert.equal(document.activeElement, card);
  for (const key of ["ArrowDown", "PageDown", "End", " "]) assert.equal(await press(key), false);
  assert.equal(state().closed, false);
  assert.equal(await press("Escape"), true);
  assert.deepEqual(state(), { closed: true, back: 1 });
});

test("it closes with its button, and leaves the focus to what was clicked", async () => {
  const { leaveTo, state } = await opened();
  leaveTo(one("button"));
  assert.equal(state().closed, false);
  one("button").click();
  assert.deepEqual(state(), { closed: true, back: 1 });
  const again = await opened();
  again.leaveTo(document.body);
  assert.deepEqual(again.state(), { closed: true, back: 0 });
});
