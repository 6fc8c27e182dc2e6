import assert from "node:assert/strict";
import { test } from "node:test";
import { drawn } from "../dom_testing.ts";
import { type Block, type Entry, type Table, type ToPython } from "../model/messages.ts";
import { Blocks } from "./blocks.tsx";
import { linkedNodes } from "./linked.tsx";
import { mount } from "./mount.tsx";

const sent: ToPython[] = [];
const page = document.body;

function show(...blocks: Block[]): void {
  sent.length = 0;
  mount(<Blocks blocks={blocks} send={(message) => sent.push(message)} />, page);
}

const one = <E extends HTMLElement = HTMLElement>(css: string) => page.querySelector<E>(css)!;
const p = (text: string): Block => ({ t: "p", text, look: "", name: "" });
const SORTED = { sort: "sort", sorted: 1, down: true };
const table = (rows: string[][], args: string[] = []): Table => {
  return { t: "table", rows: [["Name", "Size"], ...rows], name: "facts", act: "pick", ...SORTED, marked: [0], args };
};
const text: Entry = { t: "in", kind: "text", name: "needle", label: "Needle", value: "a" };
const slider: Entry = { t: "in", kind: "range", name: "at", label: "At", value: 1, min: 0, max: 9 };

test("hostile texts stay texts", () => {
  const evil = "<img src=x onerror=alert(1)>";
  show(p(evil), { t: "h", text: evil }, table([[evil, "1"]]), { t: "code", text: evil, name: "" });
  assert.equal(page.querySelector("img"), null);
  assert.equal(one("tbody th").textContent, evil);
});

test("a focused field keeps its element, focus and caret while blocks before it come and go", () => {
  show(p("one"), text);
  const field = one<HTMLInputElement>("[data-testid=needle]");
  field.focus();
  field.value = "half typ";
  show(p("one"), p("two"), table([]), text);
  assert.equal(one("[data-testid=needle]"), field);
  assert.equal(document.activeElement, field);
  assert.equal(field.value, "half typ");
  show({ ...text, value: "b" });
  assert.equal(field.value, "b", "Python's new value wins");
});

test("a slider sends while it is dragged, and follows Python otherwise", () => {
  show(slider);
  const field = one<HTMLInputElement>("[data-testid=at]");
  field.value = "4";
  field.dispatchEvent(new Event("input"));
  assert.deepEqual(sent, [{ type: "set", name: "at", value: "4" }]);
  show({ ...slider, value: 20, max: 30, show: "20 of 30" });
  assert.deepEqual([field.max, field.value, field.parentElement!.textContent], ["30", "20", "At20 of 30"]);
});

test("a select has its value also when its options come later", () => {
  const select: Entry = { t: "in", kind: "select", name: "of", label: "Of", value: "b", options: [["a", "A"]] };
  show(select);
  show({
    ...select,
    options: [
      ["a", "A"],
      ["b", "B"],
    ],
  });
  assert.equal(one<HTMLSelectElement>("[data-testid=of]").value, "b");
});

test("a table has header cells, and its rows keep their elements when others come above", () => {
  show(table([["x", "1"]], ["id-x"]));
  const row = one("tbody tr");
  assert.equal(one("thead th").getAttribute("scope"), "col");
  assert.deepEqual(
    [...page.querySelectorAll("thead th")].map((head) => head.getAttribute("aria-sort")),
    ["none", "descending"],
  );
  assert.equal(row.querySelector("th")!.getAttribute("scope"), "row");
  show(
    table(
      [
        ["y", "2"],
        ["x", "1"],
      ],
      ["id-y", "id-x"],
    ),
  );
  assert.equal(page.querySelectorAll("tbody tr")[1], row);
  row.querySelector("button")!.click();
  one("thead th:last-child button").click();
  assert.deepEqual(sent, [
    { type: "act", what: "pick", arg: "id-x" },
    { type: "act", what: "sort", arg: "1" },
  ]);
});

test("a row selects its nodes and does its action", () => {
  const revealed: number[][] = [];
  const row = { text: "add", nodes: [3], small: "", sign: "a", look: "branch", act: "go", arg: "7", drop: "2" };
  const blocks: Block[] = [{ t: "rows", rows: [row], name: "" }];
  mount(<Blocks blocks={blocks} send={(m) => sent.push(m)} reveal={(nodes) => revealed.push(nodes)} />, page);
  sent.length = 0;
  for (const button of page.querySelectorAll("button")) button.click();
  assert.deepEqual(revealed, [[3]]);
  assert.deepEqual(
    sent.map((m) => "what" in m && [m.what, m.arg]),
    [
      ["go", "7"],
      ["drop", "2"],
    ],
  );
});

test("node 7 in a sentence is a link to the node", () => {
  const revealed: number[][] = [];
  const links: [string, number][] = [
    ["node 57", 57],
    ["node 5", 5],
  ];
  const text = "add (node 57) does not join relu (node 5); node 99 is only words";
  const line = { text: "path", nodes: [], small: "kind · node 5", sign: "", look: "", act: "", arg: "", drop: "" };
  const blocks: Block[] = [
    { t: "p", text, look: "", name: "why", links },
    { t: "rows", rows: [{ ...line, links: [["node 5", 5]] }], name: "path" },
  ];
  mount(<Blocks blocks={blocks} send={() => undefined} reveal={(nodes) => revealed.push(nodes)} />, page);
  assert.equal(one("[data-testid=why]").textContent, text);
  for (const button of page.querySelectorAll("button")) button.click();
  assert.deepEqual(revealed, [[57], [5], [5]]);
  assert.deepEqual(linkedNodes(blocks), [57, 5]);
});

test("near misses of one reason are behind one line", () => {
  const line = { text: "add", nodes: [], small: "", sign: "?", look: "near", act: "show", arg: "3", drop: "" };
  const group = { ...line, text: "2 near misses: other shape", act: "", arg: "", group: [line, { ...line, arg: "4" }] };
  show({ t: "rows", rows: [group], name: "found" });
  assert.equal(one("summary").textContent, "2 near misses: other shape");
  assert.equal(one<HTMLDetailsElement>("details").open, false);
  for (const button of page.querySelectorAll<HTMLElement>("details button")) button.click();
  assert.deepEqual(
    sent.map((m) => "arg" in m && m.arg),
    ["3", "4"],
  );
  show({ t: "rows", rows: [{ ...group, opened: true }], name: "found" });
  assert.equal(one<HTMLDetailsElement>("details").open, true);
});

test("an action gives the text of its field, and its reason where it is off", async () => {
  const action = { t: "act", label: "Save", act: "keep", title: "", off: "", arg: "", field: "mine" } as const;
  show(action);
  one<HTMLInputElement>("input").value = "other";
  one("[data-testid=act-keep]").click();
  assert.deepEqual(sent, [{ type: "act", what: "keep", arg: "other" }]);
  show({ ...action, off: "Nothing to save" });
  await drawn();
  assert.equal(one<HTMLButtonElement>("[data-testid=act-keep]").disabled, true);
  assert.match(page.textContent!, /Nothing to save/);
});

test("in a saved page what needs Python is disabled or only text", async () => {
  const action = { t: "act", label: "Save", act: "keep", title: "", off: "", arg: "", field: "mine" } as const;
  const line = { text: "add", nodes: [], small: "", sign: "", look: "", act: "go", arg: "7", drop: "2" };
  const select: Entry = { t: "in", kind: "select", name: "of", label: "Of", value: "b", options: ["a", "b"] };
  const lines: Block = { t: "rows", rows: [line, { ...line, nodes: [3] }], name: "" };
  const blocks: Block[] = [
    action,
    text,
    slider,
    select,
    table([["x", "1"]]),
    lines,
    { t: "code", text: "1", name: "" },
  ];
  const revealed: number[][] = [];
  mount(<Blocks blocks={blocks} send={undefined} reveal={(nodes) => revealed.push(nodes)} />, page);
  await drawn();
  const on = [...page.querySelectorAll<HTMLButtonElement>("button, input, select, textarea")].filter(
    (e) => !e.disabled,
  );
  assert.deepEqual(
    on.map((each) => each.textContent),
    ["add", "Copy"],
  );
  on[0]?.click();
  assert.deepEqual(revealed, [[3]]);
});
