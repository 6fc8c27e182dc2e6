import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { all, click, draw, drawn, one, part, press } from "../dom_testing.ts";
import { mount } from "./mount.tsx";
import { Main, Panel } from "./panel.tsx";

const wide = signal(false);
const Page = () => (
  <Main height={600}>
    <Panel name="Inspector" side="right" startsOpen={wide.value}>
      <div class="wb-panel-body">facts</div>
    </Panel>
  </Main>
);
const closed = () => one("aside").classList.contains("wb-closed");

async function widen(on: boolean): Promise<void> {
  wide.value = on;
  await drawn();
}

async function show(): Promise<void> {
  wide.value = false;
  await draw(<Page />);
}

test("a default height leaves room for the rest in a small window, and a larger one is kept", async () => {
  const heights = [600, 900].map((height) => {
    const host = document.body.appendChild(document.createElement("div"));
    host.className = "wb";
    mount(<Main height={height}>graph</Main>, host);
    return host;
  });
  await drawn();
  const [capped, given] = heights.map((host) => host.style.getPropertyValue("--wb-height"));
  assert.equal(capped, "min(600px, max(400px, 100vh - 260px))");
  assert.equal(given, "900px");
});

test("opens where there is room, until the reader has chosen", async () => {
  await show();
  assert.equal(closed(), true);
  assert.equal(part("fold-right").getAttribute("aria-label"), "Open inspector");
  await widen(true);
  assert.equal(closed(), false);
  await click("fold-right");
  assert.equal(closed(), true);
  await widen(false);
  await widen(true);
  assert.equal(closed(), true, "the reader has closed it");
});

test("its edge moves by a drag and by keys, and the width is remembered", async () => {
  await show();
  await widen(true);
  const panel = one("aside");
  panel.getBoundingClientRect = () => new DOMRect(0, 0, 300, 600);
  Object.defineProperty(one(".wb-main"), "clientWidth", { get: () => 900 });
  const edge = one("[role=separator]");
  edge.setPointerCapture = () => undefined;
  edge.dispatchEvent(new PointerEvent("pointerdown", { clientX: 600, button: 0, pointerId: 1 }));
  edge.dispatchEvent(new PointerEvent("pointermove", { clientX: 560 }));
  await drawn();
  assert.equal(panel.style.width, "340px");
  edge.dispatchEvent(new PointerEvent("lostpointercapture"));
  edge.dispatchEvent(new PointerEvent("pointermove", { clientX: 0 }));
  await drawn();
  assert.equal(panel.style.width, "340px", "the drag has ended");
  await press("ArrowLeft", {}, edge);
  assert.equal(panel.style.width, "324px");
  await draw(null);
  await draw(<Page />);
  assert.equal(one("aside").style.width, "324px");
});

test("an edge reports its size, and leaves the graph half beside another panel", async () => {
  const [passes, inspector] = (["left", "right"] as const).map((side) => (
    <Panel key={side} name={side === "left" ? "Passes" : "Inspector"} side={side} startsOpen>
      words
    </Panel>
  ));
  await draw(
    <Main height={600}>
      {passes}
      {inspector}
    </Main>,
  );
  const [left, right] = all("aside");
  assert.ok(left && right);
  Object.defineProperty(one(".wb-main"), "clientWidth", { get: () => 1000 });
  Object.defineProperty(left, "offsetWidth", { get: () => 260 });
  right.getBoundingClientRect = () => new DOMRect(0, 0, Number.parseInt(right.style.width || "230", 10), 600);
  const edge = part("edge-left");
  for (const _ of [1, 2]) {
    await press("ArrowLeft", {}, edge);
  }
  assert.equal(right.style.width, "240px");
  const values = ["aria-valuemin", "aria-valuenow", "aria-valuemax"].map((name) => edge.getAttribute(name));
  assert.deepEqual(values, ["140", "240", "240"]);
});
