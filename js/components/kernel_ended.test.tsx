import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { drawn, one } from "../dom_testing.ts";
import { mount } from "./mount.tsx";
import { showEnded } from "./strips.tsx";

beforeEach(async () => {
  const page = document.createElement("div");
  document.body.replaceChildren(page);
  mount(
    <div class="wb">
      <div class="wb-bar">
        <button type="button">Undo</button>
      </div>
      <div class="wb-main">
        <aside>
          <button type="button">Add a pass</button>
        </aside>
        <div class="wb-side">
          <div class="wb-pane-head">before</div>
          <div class="wb-pane">
            <canvas class="wb-canvas" />
          </div>
        </div>
      </div>
    </div>,
    page,
  );
  await drawn();
});

const root = () => one(".wb");
const off = (selector: string) => root().querySelector(selector)!.closest("[inert]") !== null;

test("an ended kernel shows a banner and switches the controls off", () => {
  showEnded(root());
  assert.equal(root().querySelector("[role=alert]")!.textContent, "The kernel has ended. Run the cell again.");
  assert.ok([...root().querySelectorAll("button")].every((button) => button.closest("[inert]")));
});

test("the graph stays on", () => {
  showEnded(root());
  assert.equal(off("canvas"), false);
  assert.equal(off(".wb-kernel-ended"), false);
});

test("a second report adds nothing", () => {
  showEnded(root());
  showEnded(root());
  assert.equal(root().querySelectorAll("[role=alert]").length, 1);
});
