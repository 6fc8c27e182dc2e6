import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Tooltip } from "../components/tooltip.tsx";
import { drawn, press as pressed } from "../dom_testing.ts";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { NOTHING } from "../render/hit.ts";
import { PAPER, paperRuler } from "../render/paper.ts";
import { Stage } from "../render/stage.ts";
import { watchTheme } from "../render/theme.ts";
import { clear, Pane } from "./pane.ts";

let end = () => {};
afterEach(() => end());

async function opened() {
  const stage = new Stage(paperRuler(undefined));
  const pane = new Pane(stage, PAPER, { sides: 1, name: "", testid: "canvas", minimap: true });
  document.body.append(pane.element);
  stage.resize({ width: 800, height: 600 });
  const nodes = "x:param | nn.dense 0 @0 | nn.relu 1 @0 | tanh 2";
  await stage.setPicture(single(graph(nodes, "primitive:fused")));
  end = () => pane.dispose();
  const press = (key: string, init: KeyboardEventInit = {}) => pressed(key, init, pane.canvas);
  return { stage, pane, press };
}

function clipboard(): { text: string } {
  const kept = { text: "" };
  const writeText = async (text: string) => {
    kept.text = text;
  };
  Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  return kept;
}

test("Ctrl + C copies the text of the selected node", async () => {
  const { stage, pane, press } = await opened();
  const kept = clipboard();
  const said: string[] = [];
  pane.onsay = (words) => said.push(words);
  assert.equal(await press("c", { ctrlKey: true }), false, "nothing is selected");
  stage.select([1]);
  assert.equal(await press("c", { ctrlKey: true }), true);
  await drawn();
  assert.equal(kept.text, "nn.dense\n(1, 64) float32");
  assert.deepEqual(said, ["Copied 1 node"]);
});

test("Ctrl + C belongs to a text that is selected elsewhere", async () => {
  const { stage, press } = await opened();
  const kept = clipboard();
  stage.select([1]);
  const text = document.createElement("p");
  text.textContent = "a sentence";
  document.body.append(text);
  getSelection()?.selectAllChildren(text);
  assert.equal(await press("c", { ctrlKey: true }), false);
  getSelection()?.removeAllRanges();
  text.remove();
  await drawn();
  assert.equal(kept.text, "");
});

test("Shift + arrow adds to the selection", async () => {
  const { stage, press } = await opened();
  stage.select([1]);
  await press("ArrowDown", { shiftKey: true });
  assert.deepEqual(stage.selection, [1, 2]);
  await press("ArrowDown");
  assert.deepEqual(stage.selection, [3]);
});

test("g selects the group around the selection", async () => {
  const { stage, press } = await opened();
  stage.select([2]);
  assert.equal(await press("g"), true);
  assert.deepEqual(stage.selection, [1, 2]);
  assert.equal(await press("g"), false);
});

test("page keys move the view", async () => {
  const { stage, press } = await opened();
  const { x, y, scale } = stage.camera;
  await press("PageDown");
  assert.deepEqual([stage.camera.x, stage.camera.y], [x, y + (600 * 0.8) / scale]);
  await press("PageUp", { shiftKey: true });
  assert.ok(stage.camera.x < x);
});

test("the canvas has a name and a role", async () => {
  const { pane } = await opened();
  assert.equal(pane.canvas.getAttribute("role"), "application");
  assert.match(pane.canvas.getAttribute("aria-label") ?? "", /^Graph: arrow keys/);
  assert.equal(pane.canvas.tabIndex, 0);
});

test("a closed map leaves a button that brings it back", async () => {
  const { pane } = await opened();
  const map = pane.element.querySelector<HTMLElement>(".wb-minimap");
  const button = map?.querySelector("button");
  assert.ok(map && button);
  button.click();
  assert.ok(map.classList.contains("wb-closed"));
  button.click();
  assert.ok(!map.classList.contains("wb-closed"));
});

test("the background covers the last row of pixels", () => {
  const filled: number[][] = [];
  const context = {
    canvas: { width: 801, height: 601 },
    setTransform: () => undefined,
    fillRect: (...box: number[]) => filled.push(box),
  };
  clear(context as never, "#fff");
  assert.deepEqual(filled, [[0, 0, 801, 601]]);
});

test("a theme's style sheet that arrives late is read", () => {
  let changes = 0;
  const stop = watchTheme(() => changes++);
  const link = document.createElement("link");
  document.head.append(link);
  link.dispatchEvent(new Event("load"));
  assert.equal(changes, 1);
  stop();
  link.dispatchEvent(new Event("load"));
  assert.equal(changes, 1);
});

test("while another picture is being arranged, the old one on screen cannot be clicked, walked or opened", async () => {
  const { stage, pane, press } = await opened();
  const find = (item: number) => {
    const { scene, camera, view } = stage;
    assert.ok(scene);
    const clientX = ((scene.x[item] ?? 0) - camera.x) * camera.scale + view.width / 2;
    const clientY = ((scene.y[item] ?? 0) - camera.y) * camera.scale + view.height / 2;
    return { clientX, clientY, bubbles: true, button: 0, pointerId: 1 };
  };
  Object.assign(pane.canvas, { setPointerCapture: () => undefined });
  Object.defineProperties(pane.canvas, { clientWidth: { value: 800 }, clientHeight: { value: 600 } });
  Reflect.get(pane, "resize").call(pane);
  const click = (item: number) => {
    pane.canvas.dispatchEvent(new PointerEvent("pointerdown", find(item)));
    pane.canvas.dispatchEvent(new PointerEvent("pointerup", find(item)));
  };
  click(3);
  assert.deepEqual(stage.selection, [3]);
  const arranged = stage.setPicture(single(graph("y:param | tanh 0")));
  const kept = stage.selection;
  click(2);
  void press("ArrowUp");
  void press("Enter");
  pane.canvas.dispatchEvent(new PointerEvent("pointermove", find(3)));
  assert.deepEqual([stage.selection, stage.hoveredNode], [kept, -1]);
  stage.select([1]);
  await arranged;
  assert.deepEqual([...stage.look.selected], [stage.scene?.visible.itemOf[1]]);
});

test("a tooltip counts the attributes that it leaves out", async () => {
  const { stage } = await opened();
  const attrs = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`a${i}`, i]));
  await stage.setPicture(single(graph([{ label: "nn.conv2d", attrs }])));
  const frame = stage.frameFor(stage.view, PAPER, 1);
  assert.ok(frame);
  const tooltip = new Tooltip();
  tooltip.show(frame, { ...NOTHING, item: 0 }, { x: 0, y: 0 });
  await new Promise((done) => setTimeout(done, 300));
  assert.deepEqual(tooltip.shown.value?.lines.slice(-2), ["a9: 9", "and 2 more attributes"]);
});
