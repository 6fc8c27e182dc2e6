import assert from "node:assert/strict";
import { test } from "node:test";
import { mount } from "../components/mount.tsx";
import { drawn, halfStage } from "../dom_testing.ts";
import { compare, type Picture } from "../graph/picture.ts";
import { diff, graph } from "../graph/testing.ts";
import { type PrintedModule } from "../model/trace_store.ts";
import { type Stage } from "../render/stage.ts";
import { TextDiff } from "./text_diff.tsx";

globalThis.IntersectionObserver = class {
  observe() {}
  disconnect() {}
} as unknown as typeof IntersectionObserver;
/** `CSS.highlights` of one page: browsers have it, happy-dom has not. */
const highlights = new Map<string, Set<Range>>();
Object.assign(globalThis, { Highlight: Set });
Object.defineProperty(globalThis, "CSS", { value: { highlights } });

const chain = graph("x:param | cast 0 | relu 1");
const lone = graph("x:param | relu 0");
const picture = compare(chain, lone, diff("kept removed kept", "kept kept", "0-0 2-1"));
const printed = (lines: string[], at: number[]): PrintedModule => ({
  text: lines.join("\n"),
  lines: Uint32Array.from(at),
});
const same = Array.from({ length: 30 }, (_, i) => `  # line ${i}`);
const BEFORE = printed(["def main(x):", "  %0 = cast(x)", "  %1 = relu(%0) /* <img src=x> */", ...same], [0, 2, 3]);
const AFTER = printed(["def main(x):", "  %0 = relu(x) /* <img src=x> */", ...same], [0, 2]);

const all = (css: string, page: Element = document.body) => [...page.querySelectorAll<HTMLElement>(css)];
const press = (element: HTMLElement, key: string) =>
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));

async function show(page: Element, given: Picture = picture): Promise<Stage> {
  const stage = halfStage();
  await stage.setPicture(given);
  mount(null, page);
  mount(<TextDiff stage={stage} texts={[BEFORE, AFTER]} picture={given} words="" />, page);
  await drawn();
  return stage;
}

async function search(words: string, page: Element = document.body): Promise<HTMLInputElement> {
  const field = page.querySelector<HTMLInputElement>("[data-testid=text-search]")!;
  field.value = words;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
  return field;
}

test("rows that differ are marked, equal ones folded; names stay text", async () => {
  await show(document.body);
  assert.deepEqual(
    all(".wb-text-count").map((each) => each.textContent),
    ["~1 changed", "−1 removed"],
  );
  assert.equal(all("img").length, 0);
  const [fold] = all("[data-testid=text-fold]");
  assert.equal(fold!.textContent, "⋯ 27 equal lines");
  fold!.click();
  await drawn();
  assert.equal(all("[data-testid=text-fold]").length, 0);
  assert.equal(all("[data-row]").length, 33);
});

test("a click on a line selects its node, and a selected node marks its line", async () => {
  const stage = await show(document.body);
  all('[data-line="0 1"]')[0]!.click();
  await drawn();
  assert.deepEqual([...stage.selection], [1]);
  assert.match(all(".wb-current")[0]!.textContent!, /cast/);
  stage.select([2]);
  await drawn();
  assert.match(all(".wb-current")[0]!.textContent!, /relu/);
});

test("the arrows walk the lines and Enter selects", async () => {
  const stage = await show(document.body);
  const body = all(".wb-text")[0]!;
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) press(body, key);
  await drawn();
  assert.deepEqual([...stage.selection], [1]);
  assert.equal(body.getAttribute("aria-activedescendant"), all(".wb-text-cursor")[0]!.id);
});

test("a search opens folds, and Enter goes round", async () => {
  await show(document.body);
  const field = await search("LINE 2");
  assert.equal(all(".wb-count")[0]!.textContent, "1 / 11");
  press(field, "Enter");
  await drawn();
  assert.equal(all(".wb-count")[0]!.textContent, "2 / 11");
  assert.match(all(".wb-text-found")[0]!.textContent!, /line 20/);
  press(field, "Escape");
  await drawn();
  assert.equal(field.value, "");
  assert.equal(highlights.get("wb-found")!.size, 0);
});

test("two text tabs of one page keep each their own search marks", async () => {
  const [first, second] = [document.createElement("div"), document.createElement("div")];
  document.body.replaceChildren(first, second);
  await show(first);
  await show(second);
  await search("relu", first);
  const marked = () => [...highlights.get("wb-found")!].map((range) => String(range));
  assert.deepEqual(marked(), ["relu", "relu"]);
  await search("cast", second);
  assert.deepEqual(marked(), ["relu", "relu", "cast"]);
  mount(null, second);
  assert.deepEqual(marked(), ["relu", "relu"]);
});

test("without texts, the reason is shown", async () => {
  const stage = halfStage();
  document.body.replaceChildren();
  mount(<TextDiff stage={stage} texts={null} picture={picture} words="Loading the text …" />, document.body);
  assert.equal(document.body.textContent, "Loading the text …");
});

test("Escape in the search goes to the text", async () => {
  const page = document.body.appendChild(document.createElement("div"));
  await show(page);
  const [field] = all("[data-testid=text-search]", page);
  assert.ok(field);
  field.focus();
  press(field, "Escape");
  assert.ok(document.activeElement === all("[data-testid=text-diff]", page)[0]);
  mount(null, page);
});
