import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, draw, drawn, focusOutside, halfStage, one, part, press } from "../dom_testing.ts";
import { compare, type Picture, single } from "../graph/picture.ts";
import { diff, graph, type NodeSpec } from "../graph/testing.ts";
import { Inspector } from "./inspector.tsx";

async function opened(picture: Picture, selection: number[]) {
  const stage = halfStage();
  await draw(<Inspector stage={stage} />);
  stage.picture = picture;
  const shown: number[] = [];
  stage.reveal = async ([node]) => void shown.push(node ?? -1);
  stage.select(selection);
  await drawn();
  const choose = async (nodes: number[]) => {
    stage.select(nodes);
    await drawn();
  };
  return { choose, shown, text: () => document.body.textContent };
}

const links = () => all<HTMLButtonElement>(".wb-link");
/** x feeds 100 users, and all of them feed one concatenate. */
const FAN: NodeSpec[] = [
  { label: "x", kind: "param" },
  ...Array.from({ length: 100 }, () => ({ label: "nn.relu", inputs: [0] })),
  { label: "concatenate", inputs: Array.from({ length: 100 }, (_, i) => 100 - i), attrs: { axis: "1" } },
];

test("without a selection there is a hint", async () => {
  const { text } = await opened(single(graph(FAN)), []);
  assert.match(text(), /Click a node/);
});

test("more users than forty are counted, and a button shows them", async () => {
  const { text } = await opened(single(graph(FAN)), [0]);
  assert.match(text(), /Used by \(100\)/);
  assert.equal(links().length, 40);
  assert.equal(part("more").textContent, "and 60 more");
  await click("more");
  assert.equal(links().length, 100);
  assert.equal(all("[data-testid=more]").length, 0);
});

test("inputs are in the order of the arguments, and a click shows one", async () => {
  const { shown, text } = await opened(single(graph(FAN)), [101]);
  assert.match(text(), /Inputs \(100\)/);
  links()[0]?.click();
  assert.deepEqual(shown, [100]);
});

test("a list is one tab stop, and arrows move in it", async () => {
  await opened(single(graph(FAN)), [0]);
  assert.equal(links().filter((link) => link.tabIndex === 0).length, 1);
  links()[0]?.focus();
  await press("ArrowDown");
  assert.equal(document.activeElement, links()[1]);
});

test("an attribute that changed has its old value struck out", async () => {
  const node = (units: number) => graph([{ label: "nn.dense", attrs: { units } }]);
  const picture = compare(node(16), node(32), diff("changed", "changed", "0-0"));
  const { text } = await opened(picture, [0]);
  assert.equal(one("del").textContent, "16");
  assert.match(text(), /This pass changed it/);
});

test("several nodes are counted by op", async () => {
  const { text } = await opened(single(graph(FAN)), [1, 2, 101]);
  assert.match(text(), /3 nodes.*relu× 2.*concatenate× 1/);
});

test("hostile text is text", async () => {
  const hostile = "<img src=x onerror=alert(1)>";
  const node = { label: hostile, name: hostile, attrs: { [hostile]: hostile } };
  const { text } = await opened(single(graph([node, { label: "tanh", inputs: [0] }])), [0]);
  assert.equal(all("img").length, 0);
  assert.ok(text().includes(hostile));
});

test("rows come a hundred at a time, and the focus goes to the first of them", async () => {
  const users = Array.from({ length: 300 }, () => ({ label: "nn.relu", inputs: [0] }));
  const { choose } = await opened(single(graph([{ label: "x", kind: "param" }, ...users])), [0]);
  await click("more");
  assert.equal(links().length, 140);
  assert.ok(document.activeElement === links()[40]);
  assert.equal(part("more").textContent, "and 160 more");
  await choose([1]);
  const outside = focusOutside();
  await choose([0]);
  assert.ok(document.activeElement === outside);
});

test("the focus stays in the list when a link is followed", async () => {
  const { choose } = await opened(single(graph("x:param | tanh 0 | nn.relu 1")), [2]);
  links()[0]?.focus();
  await choose([1]);
  assert.ok(document.activeElement === links()[0]);
  assert.match(links()[0]?.textContent ?? "", /x/);
});

test("the focus stays in the inspector when the followed node has no such list", async () => {
  const { choose } = await opened(single(graph("x:param | tanh 0 | y:param")), [1]);
  links()[0]?.focus();
  await choose([0]);
  assert.equal(document.activeElement?.textContent, "tanh", "x has no inputs: its users");
  await choose([2]);
  assert.ok(document.activeElement === part("inspector"), "y has no list at all");
  const outside = focusOutside();
  await choose([1]);
  assert.ok(document.activeElement === outside, "a selection from elsewhere takes no focus");
});
