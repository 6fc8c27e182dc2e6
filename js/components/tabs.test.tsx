import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { signal } from "@preact/signals";
import { all, click, draw, drawn, one, part, press } from "../dom_testing.ts";
import { Main } from "./panel.tsx";
import { Tabs } from "./tabs.tsx";

const open = signal("b");
const Page = () => (
  <div class="wb">
    <Main height={600}>graph</Main>
    <Tabs
      open={open.value}
      onPick={(name) => {
        open.value = name;
      }}
      tabs={["a", "b", "c"].map((name) => ({ name, title: name.toUpperCase(), content: `text of ${name}` }))}
    />
  </div>
);

beforeEach(async () => {
  open.value = "b";
  await draw(<Page />);
});
/** The height of the lower panel, and of the graph before it gave some of it. */
function sized(height: (body: HTMLElement) => number): HTMLElement {
  const body = one(".wb-tab-body");
  Object.defineProperty(body, "offsetHeight", { get: () => height(body) });
  body.getBoundingClientRect = () => new DOMRect(0, 0, 100, height(body));
  Object.defineProperty(one(".wb-main"), "offsetHeight", { get: () => 600 });
  return body;
}

test("each tab and its panel name each other", async () => {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const panel = document.getElementById(tab.getAttribute("aria-controls")!)!;
    assert.equal(panel.getAttribute("role"), "tabpanel");
    assert.equal(panel.getAttribute("aria-labelledby"), tab.id);
    assert.equal(panel.hidden, tab.getAttribute("aria-selected") === "false");
  }
});

test("a click on the open tab closes it", async () => {
  await click("tab-b");
  assert.equal(open.value, "");
  assert.equal(all("[role=separator]").length, 0);
});

test("the tabs are one tab stop, and arrows move the focus only", async () => {
  const stops = () => all<HTMLElement>("[role=tab]").map((tab) => tab.tabIndex);
  assert.deepEqual(stops(), [-1, 0, -1]);
  part("tab-b").focus();
  for (const [key, to] of [
    ["ArrowRight", "c"],
    ["ArrowRight", "a"],
    ["ArrowLeft", "c"],
    ["Home", "a"],
    ["End", "c"],
  ]) {
    await press(key ?? "");
    assert.equal(document.activeElement, one(`[data-testid=tab-${to}]`));
  }
  assert.equal(open.value, "b");
  await click("tab-c");
  assert.equal(open.value, "c");
  assert.deepEqual(stops(), [-1, -1, 0]);
});

test("a drag of several steps takes from the graph as much as the panel gets", async () => {
  const body = sized(({ style }) => Number.parseInt(style.height || "200", 10));
  const edge = one("[role=separator]");
  edge.setPointerCapture = () => undefined;
  edge.dispatchEvent(new PointerEvent("pointerdown", { clientY: 500, button: 0, pointerId: 1 }));
  for (const clientY of [480, 440, 400]) {
    edge.dispatchEvent(new PointerEvent("pointermove", { clientY }));
    await drawn();
  }
  assert.equal(body.style.height, "300px");
  assert.equal(one(".wb").style.getPropertyValue("--wb-taken"), "100px");
});

test("keys move the edge; the graph gives what the panel gets, and the height is remembered", async () => {
  let tall = 200;
  const body = sized(() => tall);
  const move = (key: string) => press(key, {}, one("[role=separator]"));
  const sizes = () => ({ height: body.style.height, taken: one(".wb").style.getPropertyValue("--wb-taken") });
  await move("ArrowUp");
  assert.deepEqual(sizes(), { height: "224px", taken: "24px" });
  tall = 640;
  await move("ArrowUp");
  assert.equal(sizes().height, "664px");
  tall = 1200;
  await move("ArrowUp");
  assert.equal(sizes().height, "1224px", "some of the graph is left");
  await draw(null);
  await draw(<Page />);
  assert.equal(one(".wb-tab-body").style.height, "1224px");
  await move("Home");
  assert.equal(one(".wb-tab-body").style.height, "");
});
