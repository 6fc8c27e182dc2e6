import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, draw, drawn, one, part, send, sent, texts } from "../dom_testing.ts";
import { type RowState, type State } from "../model/messages.ts";
import { Measure } from "./measure.tsx";

const row = (id: number, config: string, more: Partial<RowState> = {}): RowState => ({
  ...{
    id,
    config,
    whole: `${config}, in full`,
    status: "ok",
    current: false,
    target: "llvm",
    kernels: 1,
    functions: 1,
  },
  ...more,
});
const TIMED = { median_us: 1500, q1_us: 1400, q3_us: 2000, samples: 1 };
const ROWS = [
  row(0, "opt 3 -<b>Fuse</b>", { ...TIMED, kernels: 5 }),
  row(1, "opt 3", { ...TIMED, median_us: 20, current: true }),
];

async function show(state: State): Promise<void> {
  await draw(<Measure state={state} plots={null} send={send} />);
}

const names = () => texts(".wb-config button");

test("each configuration is a row, with its whole text in the tooltip", async () => {
  await show({ rows: ROWS, headline: { text: "opt 3 is faster" } });
  const [first] = document.querySelectorAll<HTMLElement>(".wb-config button");
  assert.equal(first?.textContent, "opt 3 -<b>Fuse</b>");
  assert.equal(first?.title, "opt 3 -<b>Fuse</b>, in full");
  assert.match(part("row-0").textContent, /1\.5 ms/);
  assert.equal(part("headline").textContent, "opt 3 is faster");
  assert.equal(all("b").length, 0);
});

test("a row has its peak memory", async () => {
  await show({ rows: [row(0, "opt 3", { ...TIMED, peak_bytes: 4_326_912 }), row(1, "opt 0", TIMED)] });
  assert.match(part("row-0").textContent, /4\.33 MB/);
  assert.doesNotMatch(part("row-1").textContent, /bytes|undefined|NaN/);
});

test("a heading sorts up, then down, then not at all", async () => {
  await show({ rows: ROWS });
  const time = document.querySelector<HTMLElement>(".wb-column-median_us button");
  const orders: (string | null | undefined)[] = [];
  for (let press = 0; press < 3; press++) {
    time?.click();
    await drawn();
    orders.push(names()[0], time?.parentElement?.getAttribute("aria-sort"));
  }
  assert.deepEqual(orders, ["opt 3", "ascending", "opt 3 -<b>Fuse</b>", "descending", "opt 3 -<b>Fuse</b>", "none"]);
});

test("a row that failed has its word and its sentence", async () => {
  await show({
    rows: [row(0, "opt 0", { status: "failed", said: "failed: no such target", message: "no such target" })],
  });
  assert.match(part("row-0").textContent, /! failed/);
  assert.equal(part("said-0").textContent, "failed: no such target");
});

test("a row opens by a click and by its button, with its samples counted", async () => {
  await show({ rows: ROWS });
  await click("row-1");
  assert.match(one(".wb-detail").textContent, /1 sample after warm-up/);
  document.querySelectorAll<HTMLElement>(".wb-config button")[1]?.click();
  await drawn();
  assert.equal(all(".wb-detail").length, 0);
});

test("rows of two targets come with a warning, and work under way stops the buttons", async () => {
  await show({ rows: [...ROWS, row(2, "gpu", { target: "cuda" })], busy: { what: "x", fraction: null, since: 0 } });
  assert.match(document.body.textContent, /Rows of different targets are not comparable/);
  assert.equal(part<HTMLButtonElement>("measure").disabled, true);
});

test("the race names its rival, and the buttons ask Python", async () => {
  await show({ rows: ROWS, headline: { text: "", rival: "opt 0", raced: false } });
  assert.equal(part("race").textContent, "Race against opt 0");
  for (const name of ["measure", "race", "clear-rows"]) part(name).click();
  assert.deepEqual(
    sent.map(({ type }) => type),
    ["measure", "race", "clear_rows"],
  );
  await show({ rows: ROWS, headline: { rival: "" } });
  assert.equal(part("race").hidden, true);
});

test("without rows the table has the next step", async () => {
  await show({});
  assert.match(part("rows").textContent, /Nothing measured yet/);
});
