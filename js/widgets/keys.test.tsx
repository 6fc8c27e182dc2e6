import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { all, drawn, one, press, TestModel } from "../dom_testing.ts";
import { type GroupSpec, payload } from "../graph/testing.ts";
import { type ToPage, type ToPython } from "../model/messages.ts";
import { type Model, type ModelEvent } from "../model/model.ts";
import { compareView } from "./compare_view.tsx";
import { compilers } from "./compilers.tsx";
import { fusion } from "./fusion.tsx";
import { graphView } from "./graph_view.tsx";
import { pattern } from "./pattern.tsx";
import { stepper } from "./stepper.tsx";
import { workbench } from "./workbench.tsx";

const GROUPS: GroupSpec[] = [
  { kind: "function", name: "main" },
  { kind: "primitive", name: "fused", parent: 0 },
];
const GRAPH = payload("x:param @0 | exp 0 @1 | relu 1 @1 | tanh 2 @0", GROUPS);
const DIFF = { before_mark: [0, 1, 0, 0], after_mark: [0, 1, 0, 0], pairs: [0, 0, 1, 1, 2, 2, 3, 3] };
const STEP = { name: "Fold", depth: 0, status: "changed", seconds: 0, error: "", detail: "", before: 0, after: 1 };

/** A kernel that has every state and difference of a trace of one step. */
class Answering extends TestModel {
  private heard: (message: ToPage, buffers: unknown[]) => void = () => undefined;

  override on(name: ModelEvent, callback: (...args: never[]) => void): void {
    if (name === "msg:custom") this.heard = callback as typeof this.heard;
    super.on(name, callback);
  }

  override send(message: ToPython): void {
    super.send(message);
    if (message.type !== "want") return;
    for (const [kind, ...of] of message.items) {
      const [before = 0, after = 0] = of.map(Number);
      const graph = GRAPH as never;
      if (kind === "state") this.heard({ type: "state", state: before, nodes: 4, ops: 3, kernels: 1, graph }, []);
      if (kind === "diff") this.heard({ type: "diff", before, after, counts: {}, diff: DIFF as never }, []);
    }
  }
}

const WIDGETS: Record<string, (model: Model, el: HTMLElement) => () => void> = {
  ...{ graphView, compareView, compilers, stepper, workbench, fusion, pattern },
};
const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const NAMED = "ArrowUp ArrowDown ArrowLeft ArrowRight Enter Escape PageUp PageDown Home End Delete Backspace".split(
  " ",
);
const KEYS = [...NAMED, ...LETTERS, ...LETTERS.map((key) => key.toUpperCase()), ..." 0123456789+-=/?[],."];
/** The faces on the card that are not names of keys. */
const FACES: Record<string, string[]> = {
  "↑ ↓ ← →": ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"],
  "Page ↑ ↓": ["PageUp", "PageDown"],
  "+  −": ["+", "-"],
  Esc: ["Escape"],
};

async function opened(widget: string, saved = false) {
  const single = ["graphView", "fusion", "pattern"].includes(widget);
  const model = new Answering({
    ...{ graph: GRAPH, before: GRAPH, after: GRAPH, diff: DIFF, listing: { steps: [STEP] }, step: 0, pinned: [] },
    ...{ shows: "step", panels: {}, state: {}, catalog: {}, saved },
  } as never);
  document.body.replaceChildren();
  const end = WIDGETS[widget]?.(model, document.body);
  for (let i = 0; i < 20; i++) await drawn();
  const select = async () => {
    model.set("selection", single ? [1, 2] : { before: [], after: [1, 2] });
    await drawn();
    await drawn();
  };
  const canvas = all<HTMLElement>("canvas.wb-canvas").at(-1);
  assert.ok(canvas && end);
  return { end, press: (key: string) => press(key, {}, canvas), select };
}

async function listed(press: (key: string) => Promise<boolean>): Promise<string[]> {
  await press("?");
  const rows = all("[data-testid=keys] dl:first-of-type .wb-keys-row");
  const faces = rows.filter((row) => row.closest("dl") === rows[0]?.closest("dl"));
  return faces.flatMap((row) => {
    const [face = "", does = ""] = [row.querySelector("dt")?.textContent, row.querySelector("dd")?.textContent];
    const other = / \+ |click|wheel/.test(face) || /^on a (pass|step)/.test(does);
    return other ? [] : (FACES[face] ?? face.split("  "));
  });
}

for (const widget of Object.keys(WIDGETS)) {
  test(`the card of ${widget} has the keys that do something, and no others`, async () => {
    const { end, press, select } = await opened(widget);
    const found: string[] = [];
    for (const key of KEYS) {
      await select();
      if (await press(key)) found.push(key);
    }
    const expected = [...new Set(await listed(press))].sort();
    assert.deepEqual(found.filter((key) => key !== "=").sort(), expected, "= is + without Shift");
    end();
  });
}

test("a saved page lists no key that needs Python", async () => {
  for (const widget of ["workbench", "fusion", "pattern"]) {
    const { end, press } = await opened(widget, true);
    assert.ok(!(await listed(press)).includes("u"), widget);
    assert.doesNotMatch(one("[data-testid=keys]").textContent, /undo|on a pass/);
    end();
  }
});

test("a saved Workbench copies its code, and nothing else of it that needs Python is on", async () => {
  const { end } = await opened("workbench", true);
  const button = (css: string) => document.querySelector<HTMLButtonElement>(css);
  const off = (css: string) => button(css)?.closest("fieldset[disabled]") !== null;
  assert.equal(off(".wb-code-tab .wb-copy button"), false);
  for (const name of ["undo", "check", "presets"]) assert.ok(off(`[data-testid=${name}]`), name);
  end();
});

/** In the order of the page's sections. */
const TITLES: Record<string, string> = {
  ...{ graphView: "Every graph", compareView: "CompareView", stepper: "PassStepper", workbench: "Workbench" },
  ...{ compilers: "CompilerView", fusion: "FusionInspector", pattern: "PatternInspector" },
};
const HEAD = `<!-- \`make messages\` writes this page from the cards of the widgets. -->
# Search and keys

\`?\` on a graph opens a card with these tables.
`;
const TAIL = `
Words are joined by "and". A word matches anywhere in the text it is compared with. Enter goes to the next match, Shift + Enter to the one before.
`;

test("the documentation has the rows of the cards", async () => {
  let page = HEAD;
  let common: string[] = [];
  let search: string[] = [];
  const section = (title: string, column: string, rows: string[]) =>
    `\n## ${title}\n\n| ${column} | effect |\n|---|---|\n${rows.join("\n")}\n`;
  for (const [widget, title] of Object.entries(TITLES)) {
    const { end, press } = await opened(widget);
    await press("?");
    const [keys = [], queries = []] = all("[data-testid=keys] dl").map((list) =>
      [...list.children].map(({ children: [face, does] }) => `| \`${face?.textContent}\` | ${does?.textContent} |`),
    );
    page += section(
      title,
      "keys",
      keys.filter((row) => !common.includes(row)),
    );
    if (common.length === 0) [common, search] = [keys, queries];
    end();
  }
  page += section("Search", "search", search) + TAIL;
  const path = "../docs/reference/search-and-keys.md";
  if (process.env.WRITE_KEYS) writeFileSync(path, page);
  assert.equal(readFileSync(path, "utf8"), page, "run `make messages`");
});
