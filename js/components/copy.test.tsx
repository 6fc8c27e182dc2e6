import assert from "node:assert/strict";
import { test } from "node:test";
import { all, drawn, one } from "../dom_testing.ts";
import { CopyButton } from "./copy.tsx";
import { mount } from "./mount.tsx";

/** What a press copied, on a page without `navigator.clipboard`, and the words beside the button. */
async function press(works: boolean): Promise<[string, string]> {
  let copied = "";
  Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  document.execCommand = () => {
    copied = document.activeElement instanceof HTMLTextAreaElement ? document.activeElement.value : "";
    return works;
  };
  mount(<CopyButton text={() => "wb.count(w)"} />, document.body);
  const button = one("button");
  button.focus();
  button.click();
  await drawn();
  await drawn();
  assert.equal(document.activeElement, button, "the focus is back");
  assert.equal(all("textarea").length, 0);
  return [copied, one("[role=status]").textContent!];
}

test("copies over plain http, from a selected field", async () => {
  assert.deepEqual(await press(true), ["wb.count(w)", "Copied"]);
});

test("says so where the page may not copy at all", async () => {
  assert.match((await press(false))[1], /press Ctrl\+C/);
});

test("uses the clipboard where there is one", async () => {
  let copied = "";
  const clipboard = {
    writeText: async (text: string) => {
      copied = text;
    },
  };
  Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true });
  mount(<CopyButton text="a" />, document.body);
  one("button").click();
  await drawn();
  assert.equal(copied, "a");
});
