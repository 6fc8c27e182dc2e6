/** Configurations tried: a row each, with kernels and time and its spread; the plots beside. */
import { oneLine } from "../render/text.ts";
import { button, h, replace, setText } from "./dom.ts";
import { HEADINGS, type RowState, type State } from "./messages.ts";
import { type Send } from "./model.ts";

type Key = "config" | "kernels" | "functions" | "median_us" | "target";
const COLUMNS: Key[] = ["config", "kernels", "functions", "median_us", "target"];

export class MeasureTab {
  readonly element: HTMLElement;
  private readonly body = h("tbody", { "data-testid": "rows" });
  private readonly heads: HTMLElement[];
  readonly plots = h("div", { class: "wb-plots" });
  private readonly measure: HTMLButtonElement;
  private readonly race: HTMLButtonElement;
  private readonly note = h("span", { class: "wb-dim wb-cut" });
  private readonly headline = h("p", { class: "wb-said-strong wb-headline", role: "status", "data-testid": "headline", hidden: true });
  private rows: RowState[] = [];
  private sort: { key: Key; down: boolean } | null = null;
  private readonly opened = new Set<string>();

  constructor(send: Send) {
    this.measure = button("Measure this configuration", "Build and time the present configuration", () => send({ type: "measure" }), { class: "wb-button wb-primary", "data-testid": "measure" });
    this.race = button("", "A difference is reported only after a race.", () => send({ type: "race" }), { class: "wb-button", "data-testid": "race", hidden: true });
    this.heads = COLUMNS.map((key) => [key, ...HEADINGS[key]] as const).map(([key, face, why]) => h("th", { scope: "col", class: `wb-column-${key}` }, h("button", { type: "button", class: "wb-link", title: why || `Sort by ${face.toLowerCase()}`, onclick: () => this.sortBy(key) }, face)));
    this.element = h("div", { class: "wb-measure" },
      h("div", { class: "wb-measure-table" },
        h("div", { class: "wb-tools" }, this.measure, this.race, button("Clear", "Forget all rows", () => send({ type: "clear_rows" }), { "data-testid": "clear-rows" }), this.note),
        this.headline,
        h("table", { class: "wb-rows" }, h("thead", {}, h("tr", {}, this.heads)), this.body)),
      this.plots);
  }

  private sortBy(key: Key): void {
    this.sort = this.sort?.key === key ? (this.sort.down ? null : { key, down: true }) : { key, down: false };
    this.heads.forEach((head, i) => {
      const mine = this.sort?.key === COLUMNS[i];
      head.setAttribute("aria-sort", !mine ? "none" : this.sort!.down ? "descending" : "ascending");
    });
    this.draw();
  }

  show(state: State): void {
    this.rows = state.rows ?? [];
    this.measure.disabled = this.race.disabled = state.busy !== null && state.busy !== undefined;
    const { text = "", rival = "", raced = false } = state.headline ?? {};
    this.race.hidden = !rival;
    setText(this.race, raced ? "Race again" : `Race against ${oneLine(rival, 40)}`);
    this.headline.hidden = this.rows.length === 0 || !text;
    setText(this.headline, text);
    this.draw();
  }

  private draw(): void {
    const order = this.rows.map((_, i) => i);
    const sort = this.sort;
    if (sort) order.sort((a, b) => compare(this.rows[a][sort.key], this.rows[b][sort.key]) * (sort.down ? -1 : 1) || a - b);
    const slowest = Math.max(1e-9, ...this.rows.map((row) => row.q3_us ?? row.median_us ?? 0));
    const targets = new Set(this.rows.map((row) => row.target).filter(Boolean));
    // One target needs no column; two need a warning too.
    const several = targets.size > 1;
    this.element.classList.toggle("wb-one-target", !several);
    this.note.textContent = several ? "Rows of different targets are not comparable." : [...targets].join("");
    if (order.length === 0) {
      replace(this.body, h("tr", {}, h("td", { class: "wb-empty", colspan: COLUMNS.length }, "Nothing measured yet. Switch a pass on or off, then measure: each configuration becomes a row.")));
      return;
    }
    replace(this.body, order.flatMap((i) => this.row(this.rows[i], i, slowest)));
  }

  private row(row: RowState, i: number, slowest: number): HTMLElement[] {
    const id = String(row.id ?? i);
    const status = row.status ?? "ok";
    const line = h("tr", {
      class: `wb-row wb-row-${status.replaceAll(" ", "-")}${row.current ? " wb-current" : ""}`, "data-testid": `row-${i}`,
      onclick: () => { if (!this.opened.delete(id)) this.opened.add(id); this.draw(); },
    },
      h("td", { class: "wb-config" }, row.current ? h("span", { class: "wb-now", title: "The present configuration" }, "●") : null, row.config ?? ""),
      h("td", { class: "wb-number" }, whole(row.kernels)),
      h("td", { class: "wb-number" }, whole(row.functions)),
      h("td", {}, status === "ok" ? time(row, slowest) : h("span", { class: CALM.includes(status) ? "wb-dim" : "wb-mark-removed" }, statusWords(row))),
      h("td", { class: "wb-dim wb-cut wb-column-target", title: row.target ?? "" }, row.target ?? ""));
    const look = CALM.includes(status) ? "wb-dim" : "wb-mark-removed";
    // The sentence of a row that failed has a line of its own: there it can be read in full.
    const said = row.said ? [h("tr", { class: "wb-detail", "data-testid": `said-${i}` }, h("td", { colspan: COLUMNS.length, class: look }, row.said))] : [];
    const more = this.opened.has(id) ? [h("tr", { class: "wb-detail" }, h("td", { colspan: COLUMNS.length }, detail(row)))] : [];
    return [line, ...said, ...more];
  }
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "string" || typeof b === "string") return String(a ?? "").localeCompare(String(b ?? ""));
  return (typeof a === "number" ? a : Infinity) - (typeof b === "number" ? b : Infinity);
}

function whole(value: number | null | undefined): string {
  return typeof value === "number" ? value.toLocaleString("en") : "–";
}

/** Microseconds in the unit a person would say them in. */
export function formatTime(us: number): string {
  if (us >= 1e6) return `${(us / 1e6).toPrecision(3)} s`;
  if (us >= 1e3) return `${(us / 1e3).toPrecision(3)} ms`;
  return `${us.toPrecision(3)} µs`;
}

/** What is nobody's fault. */
const CALM = ["pending", "running", "cancelled", "not measured"];

/** In a row's own line only the word; its sentence is beneath it. */
function statusWords(row: RowState): string {
  if (row.status === "running") return row.message || "measuring…";
  if (row.status === "pending") return row.message || "waiting";
  const status = row.status ?? "failed";
  return CALM.includes(status) ? status : `! ${status}`;
}

function time(row: RowState, slowest: number): (Node | string)[] {
  if (typeof row.median_us !== "number") return [row.message || "not measured"];
  const percent = (us: number) => `${Math.max(0, Math.min(100, (us / slowest) * 100))}%`;
  const low = row.q1_us ?? row.median_us;
  const high = row.q3_us ?? row.median_us;
  return [
    h("span", { class: "wb-time" }, formatTime(row.median_us)),
    h("span", { class: "wb-bar-track", title: `Middle half: ${formatTime(low)} to ${formatTime(high)}` },
      h("span", { class: "wb-bar-fill", style: `width: ${percent(row.median_us)}` }),
      h("span", { class: "wb-whisker", style: `left: ${percent(low)}; width: calc(${percent(high)} - ${percent(low)})` })),
  ];
}

function detail(row: RowState): HTMLElement {
  const count = Array.isArray(row.samples) ? row.samples.length : row.samples;
  const facts = [
    typeof row.median_us === "number" ? `median ${formatTime(row.median_us)}` : "",
    typeof row.q1_us === "number" && typeof row.q3_us === "number" ? `middle half ${formatTime(row.q1_us)} to ${formatTime(row.q3_us)}` : "",
    typeof count === "number" ? `${count} samples after warm-up` : "",
    row.target ? `target ${row.target}` : "",
    row.message ?? "",
  ];
  return h("div", { class: "wb-dim" }, facts.filter(Boolean).join(" · "));
}
