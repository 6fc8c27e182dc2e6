import assert from "node:assert/strict";
import { test } from "node:test";
import { all, draw, drawn, one, part, send, sent } from "../dom_testing.ts";
import { type Block, type Entry, type Table } from "../model/messages.ts";
import { Blocks } from "./blocks.tsx";
import { linkedNodes } from "./linked.tsx";

async function show(...blocks: Block[]): Promise<void> {
  await draw(<Blocks blocks={blocks} send={send} />);
}

const p = (text: string): Block => ({ t: "p", text, look: "", name: "" });
const SORTED = { sort: "sort", sorted: 1, down: true };
const table = (rows: string[][], args: string[] = []): Table => {
  return { t: "table", rows: [["Name", "Size"], ...rows], name: "facts", act: "pick", ...SORTED, marked: [0], args };
};
const text: Entry = { t: "in", kind: "text", name: "needle", label: "Needle", value: "a" };
const slider: Entry = { t: "in", kind: "range", name: "at", label: "At", value: 1, min: 0, max: 9 };

test("hostile texts stay texts", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  await show(p(evil), { t: "h", text: evil }, table([[evil, "1"]]), { t: "code", text: evil, name: "" });
  assert.equal(all("img").length, 0);
  assert.equal(one("tbody th").textContent, evil);
});

test("a focused field keeps its element, focus and caret while blocks before it come and go", async () => {
  await show(p("one"), text);
  const field = part<HTMLInputElement>("needle");
  field.focus();
  field.value = "half typ";
  await show(p("one"), p("two"), table([]), text);
  assert.equal(part("needle"), field);
  assert.equal(document.activeElement, field);
  assert.equal(field.value, "half typ");
  await show({ ...text, value: "b" });
  assert.equal(field.value, "b", "Python's new value wins");
});

test("a slider sends while it is dragged, and follows Python otherwise", async () => {
  await show(slider);
  const field = part<HTMLInputElement>("at");
  field.value = "4";
  field.dispatchEvent(new Event("input"));
  assert.deepEqual(sent, [{ type: "set", name: "at", value: "4" }]);
  await show({ ...slider, value: 20, max: 30, show: "20 of 30" });
  assert.deepEqual([field.max, field.value, field.parentElement!.textContent], ["30", "20", "At20 of 30"]);
});

test("a select has its value also when its options come later", async () => {
  const select: Entry = { t: "in", kind: "select", name: "of", label: "Of", value: "b", options: [["a", "A"]] };
  await show(select);
  await show({ ...select, options: [["a", "A"], "b"] });
  assert.equal(part<HTMLSelectElement>("of").value, "b");
});

test("a table has header cells, and its rows keep their elements when others come above", async () => {
  await show(table([["x", "1"]], ["id-x"]));
  const row = one("tbody tr");
  assert.equal(one("thead th").getAttribute("scope"), "col");
  assert.deepEqual(
    all("thead th").map((head) => head.getAttribute("aria-sort")),
    ["none", "descending"],
  );
  assert.equal(row.querySelector("th")!.getAttribute("scope"), "row");
  const [x, y] = ["x 1", "y 2"].map((words) => words.split(" "));
  await show(table([y ?? [], x ?? []], ["id-y", "id-x"]));
  assert.equal(document.querySelectorAll("tbody tr")[1], row);
  row.querySelector("button")!.click();
  one("thead th:last-child button").click();
  assert.deepEqual(sent, [
    { type: "act", what: "pick", arg: "id-x" },
    { type: "act", what: "sort", arg: "1" },
  ]);
});

test("a line has a bar and a button, and a short line the columns that are left", async () => {
  const bars = { column: 1, spans: [[0.5, 0.75, 1], []] };
  const rows = [["opt 3", "2 ms"], ["! failed"]];
  await show({ ...table(rows, ["0", ""]), bars, button: ["+ add", "add"], tips: ["10 samples", ""], opened: ["0"] });
  assert.equal(part("pick-0").getAttribute("aria-expanded"), "true");
  const [line, failure] = all("tbody tr");
  assert.deepEqual(
    [...all<HTMLElement>("tbody th")].map(({ title }) => title),
    ["10 samples", "! failed"],
  );
  assert.equal(one(".wb-bar-fill", line).style.width, "75%");
  assert.match(one(".wb-whisker", line).style.cssText, /left: 50%/);
  part("pick-0").click();
  part("add-0").click();
  assert.deepEqual(sent, [
    { type: "act", what: "pick", arg: "0" },
    { type: "act", what: "add", arg: "0" },
  ]);
  assert.equal(all("button, .wb-bar-track", failure).length, 0);
  assert.equal(one<HTMLTableCellElement>("th.wb-mark-removed", failure).colSpan, 3, "the button's column too");
  assert.equal(all("thead tr > *").length, 3);
});

test("lines keep their elements when one with the place of an argument comes between", async () => {
  await show(
    table(
      [
        ["a", "1"],
        ["b", "2"],
      ],
      ["0", "1"],
    ),
  );
  const [first, second] = all("tbody tr");
  await show(table([["a", "1"], ["details of a"], ["b", "2"]], ["0", "", "1"]));
  const [a, , b] = all("tbody tr");
  assert.ok(a === first && b === second);
});

test("an error is announced", async () => {
  await show({ t: "p", text: "the name is empty", look: "bad", name: "refused" });
  assert.equal(part("refused").getAttribute("role"), "alert");
});

test("a row selects its nodes and does its action", async () => {
  const revealed: number[][] = [];
  const row = { text: "add", nodes: [3], small: "", sign: "a", look: "branch", act: "go", arg: "7", drop: "2" };
  const blocks: Block[] = [{ t: "rows", rows: [row], name: "" }];
  await draw(<Blocks blocks={blocks} send={send} reveal={(nodes) => revealed.push(nodes)} />);
  for (const button of document.querySelectorAll("button")) button.click();
  assert.deepEqual(revealed, [[3]]);
  assert.deepEqual(sent, [
    { type: "act", what: "go", arg: "7" },
    { type: "act", what: "drop", arg: "2" },
  ]);
});

test("node 7 in a sentence is a link to the node", async () => {
  const revealed: number[][] = [];
  const links = [57, 5].map((node): [string, number] => [`node ${node}`, node]);
  const text = "add (node 57) does not join relu (node 5); node 99 is only words";
  const line = { text: "path", nodes: [], small: "kind · node 5", sign: "", look: "", act: "", arg: "", drop: "" };
  const blocks: Block[] = [
    { t: "p", text, look: "", name: "why", links },
    { t: "rows", rows: [{ ...line, links: [["node 5", 5]] }], name: "path" },
  ];
  await draw(<Blocks blocks={blocks} send={() => undefined} reveal={(nodes) => revealed.push(nodes)} />);
  assert.equal(part("why").textContent, text);
  for (const button of document.querySelectorAll("button")) button.click();
  assert.deepEqual(revealed, [[57], [5], [5]]);
  assert.deepEqual(linkedNodes(blocks), [57, 5]);
});

test("near misses of one reason are behind one line", async () => {
  const line = { text: "add", nodes: [], small: "", sign: "?", look: "near", act: "show", arg: "3", drop: "" };
  const group = { ...line, text: "2 near misses: other shape", act: "", arg: "", group: [line, { ...line, arg: "4" }] };
  await show({ t: "rows", rows: [group], name: "found" });
  assert.equal(one("summary").textContent, "2 near misses: other shape");
  assert.equal(one<HTMLDetailsElement>("details").open, false);
  for (const button of document.querySelectorAll<HTMLElement>("details button")) button.click();
  assert.deepEqual(
    sent.map((m) => "arg" in m && m.arg),
    ["3", "4"],
  );
  await show({ t: "rows", rows: [{ ...group, opened: true }], name: "found" });
  assert.equal(one<HTMLDetailsElement>("details").open, true);
});

test("an action gives the text of its field, and its reason where it is off", async () => {
  const action = { t: "act", label: "Save", act: "keep", title: "", off: "", arg: "", field: "mine" } as const;
  await show(action);
  one<HTMLInputElement>("input").value = "other";
  part("act-keep").click();
  assert.deepEqual(sent, [{ type: "act", what: "keep", arg: "other" }]);
  await show({ ...action, off: "Nothing to save" });
  await drawn();
  assert.equal(part<HTMLButtonElement>("act-keep").disabled, true);
  assert.match(document.body.textContent!, /Nothing to save/);
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
  await draw(<Blocks blocks={blocks} send={undefined} reveal={(nodes) => revealed.push(nodes)} />);
  await drawn();
  const on = [...document.querySelectorAll<HTMLButtonElement>("button, input, select, textarea")].filter(
    (e) => !e.disabled,
  );
  assert.deepEqual(
    on.map((each) => each.textContent),
    ["add", "Copy"],
  );
  on[0]?.click();
  assert.deepEqual(revealed, [[3]]);
});
