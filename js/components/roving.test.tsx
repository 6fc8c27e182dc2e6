import assert from "node:assert/strict";
import { test } from "node:test";
import { type ComponentChildren } from "preact";
import { all, draw, one, press } from "../dom_testing.ts";
import { type Block, type Line } from "../model/messages.ts";
import { Ribbon } from "../panels/ribbon.tsx";
import { Blocks } from "./blocks.tsx";
import { roving } from "./roving.ts";

const quiet = () => undefined;
const line = (text: string, more: Partial<Line> = {}): Line => ({
  ...{ text, nodes: [1], small: "", sign: "", look: "", act: "go", arg: text, drop: "1" },
  ...more,
});
const list: Block = {
  ...{ t: "rows", name: "list" },
  rows: [line("a"), line("b"), { ...line("group"), group: [line("in it")], opened: false }],
};
const table: Block = {
  ...{ t: "table", name: "table", act: "pick", sort: "sort", sorted: -1, down: false, marked: [], args: [] },
  rows: [
    ["Name", "Size"],
    ["x", "1"],
    ["y", "2"],
  ],
};
const place = (state: number) => ({ ...{ state, step: state, ids: [state], ops: ["exp"], kernels: [], sure: "span" } });

/** Each list, with the keys from its first tab stop to another control. */
const LISTS: Record<string, [ComponentChildren, string[], string]> = {
  "a list of blocks": [<Blocks blocks={[list]} send={quiet} />, ["ArrowDown", "ArrowRight"], "×"],
  "a table of blocks": [<Blocks blocks={[table]} send={quiet} />, ["ArrowDown", "ArrowDown"], "y"],
  "the heads of a table": [<Blocks blocks={[table]} send={quiet} />, ["End", "Home", "ArrowRight"], "Size"],
  "a table with a button in each line": [
    <Blocks blocks={[{ ...table, args: ["x", "y"], button: ["+ add", "add"] }]} send={quiet} />,
    ["ArrowDown", "ArrowRight"],
    "+ add",
  ],
  "the history": [
    <Ribbon places={[place(0), place(1)]} steps={[]} shown={[]} onPick={quiet} />,
    ["ArrowRight", "ArrowRight", "ArrowLeft"],
    "exp",
  ],
};

for (const [name, [content, keys, to]] of Object.entries(LISTS)) {
  test(`${name}: one tab stop, arrows inside`, async () => {
    await draw(content);
    const controls = () =>
      all<HTMLElement>("ul, table, .wb-ribbon")
        .flatMap((each) => [...each.querySelectorAll<HTMLElement>("button, summary")])
        .filter((each) => !each.closest("details:not([open]) > ul"));
    const stops = () => controls().filter((each) => each.tabIndex === 0);
    assert.ok(controls().length > 1);
    assert.equal(stops().length, 1);
    stops()[0]?.focus();
    for (const key of keys) await press(key);
    assert.equal(document.activeElement?.textContent, to);
    assert.ok(stops().length === 1 && stops()[0] === document.activeElement);
  });
}

test("a control that comes later is not a second tab stop", async () => {
  await draw(<Blocks blocks={[list]} send={quiet} />);
  await draw(<Blocks blocks={[{ ...list, rows: [...list.rows, line("late")] }]} send={quiet} />);
  const late = all<HTMLElement>("li").at(-1)?.querySelectorAll("button");
  assert.deepEqual(
    [...(late ?? [])].map((each) => each.tabIndex),
    [-1, -1],
  );
});

test("the focus goes with the current row, and stays where it is on another one", async () => {
  const rows = (current: number) => (
    <ul ref={roving}>
      {["a", "b", "c"].map((name, i) => (
        <li key={name}>
          <button type="button" aria-current={i === current ? "step" : "false"}>
            {name}
          </button>
        </li>
      ))}
    </ul>
  );
  await draw(rows(0));
  one("button").focus();
  for (const [current, focused] of [
    [1, "b"],
    [2, "c"],
  ] as const) {
    await draw(rows(current));
    assert.equal(document.activeElement?.textContent, focused);
  }
  one("button").focus();
  await draw(rows(1));
  assert.equal(document.activeElement?.textContent, "a");
});
