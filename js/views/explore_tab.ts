/** What would change the module here: a row a pass, as they are tried. A click shows what it would do; + adds it. */
import { button, h, replace, setText } from "./dom.ts";
import { type Effect as Row, type Exploration, type State } from "./messages.ts";
import { type Send } from "./model.ts";

const ORDER = ["changed", "error", "untried", "same"];

export class ExploreTab {
  readonly element: HTMLElement;
  private readonly place = h("select", { class: "wb-select", "aria-label": "Where to try the passes", "data-testid": "explore-place" });
  private readonly start: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly bar = h("progress", { class: "wb-progress", "aria-label": "Passes tried" });
  private readonly all: HTMLInputElement;
  private readonly words = h("span", { class: "wb-dim wb-cut", role: "status", "data-testid": "explore-words" });
  private readonly body = h("tbody", { "data-testid": "explore-rows" });
  private readonly table: HTMLElement;
  private names = "";
  private step = -1;
  private preview: string | null | undefined;
  private found: Exploration = {};

  constructor(private readonly send: Send) {
    this.start = button("Try every pass", "Try each pass that TVM has on the module here, one at a time, in a process of its own", () => send({ type: "explore", index: Number(this.place.value) }), { class: "wb-button wb-primary", "data-testid": "explore" });
    this.stop = button("Cancel", "Stop trying passes; what was found stays", () => send({ type: "cancel" }), { class: "wb-button wb-primary", "data-testid": "explore-cancel" });
    this.all = h("input", { type: "checkbox", "data-testid": "explore-all", onchange: () => this.draw() });
    this.table = h("table", { class: "wb-rows" }, h("thead", {}, h("tr", {}, ["Pass", "Kernels", "Ops", "Nodes", "Time", ""].map((face) => h("th", { scope: "col", title: face === "Kernels" ? "Kernels that fusion would make of the module then" : "" }, face)))), this.body);
    this.element = h("div", { class: "wb-explore" }, h("div", { class: "wb-tools" }, this.start, this.place, this.stop, this.bar, h("label", { class: "wb-label" }, this.all, "also what changes nothing"), this.words), this.table);
  }

  show(state: State, found: Exploration): void {
    this.found = found;
    this.preview = state.preview;
    const passes = state.mode === "context" ? [] : state.passes ?? [];
    const names = passes.map((pass) => pass.text).join("\n");
    const step = state.mode === "context" ? -1 : state.step ?? -1;
    if (names !== this.names || this.place.options.length === 0) {
      this.names = names;
      replace(this.place, h("option", { value: -1 }, "at the start"), passes.map((pass, i) => h("option", { value: i }, `after ${i + 1} ${pass.name}`)));
      this.place.value = String(step);
    }
    // Whoever looks at a step asks about it.
    if (step !== this.step) this.place.value = String(step);
    this.step = step;
    const [tried, total] = [found.rows?.length ?? 0, found.total ?? 0];
    this.start.disabled = this.stop.hidden = this.bar.hidden = false;
    this.start.disabled = found.running === true;
    this.stop.hidden = this.bar.hidden = found.running !== true;
    this.bar.max = total || 1;
    this.bar.value = tried;
    const changing = found.rows?.filter((row) => row.status === "changed").length ?? 0;
    setText(this.words, found.error || (total === 0 ? "" : `${found.here}: ${changing} of ${tried}${tried < total ? ` tried, ${total - tried} to go` : ""} would change it`));
    this.draw();
  }

  private draw(): void {
    const rows = this.found.rows ?? [];
    this.table.hidden = rows.length === 0;
    const shown = rows.filter((row) => this.all.checked || row.status !== "same")
      .sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || (a.kernels ?? 0) - (b.kernels ?? 0) || (a.ops ?? 0) - (b.ops ?? 0) || a.name.localeCompare(b.name));
    replace(this.body, shown.map((row) => this.row(row)));
  }

  private row(row: Row): HTMLElement {
    const { name, status } = row;
    const changed = status === "changed";
    const current = name === this.preview;
    const level = changed && (row.level ?? 0) > 3 ? h("span", { class: "wb-dim", title: `TVM runs it from opt level ${row.level} on` }, ` opt level ${row.level}`) : null;
    const face = changed
      ? h("button", { type: "button", class: "wb-link", title: `Show what ${name} would do`, "aria-pressed": String(current), "data-testid": `preview-${name}`, onclick: () => this.send({ type: "preview", name }) }, name)
      : h("span", { class: "wb-dim" }, name);
    const facts = changed
      ? [...[row.kernels, row.ops, row.nodes].map((n) => h("td", { class: "wb-number" }, delta(n))), h("td", {}, `${(row.seconds * 1000).toFixed(1)} ms`)]
      : [h("td", { class: status === "error" ? "wb-mark-removed" : "wb-dim", colspan: 4, title: row.message }, status === "error" ? `! ${row.message}` : status === "same" ? "changes nothing" : row.message)];
    const add = changed ? button("+ add", `Add ${name} here`, () => this.send({ type: "add", name, index: (this.found.index ?? -1) + 1 }), { "data-testid": `explore-add-${name}` }) : null;
    return h("tr", { class: `wb-row${current ? " wb-current" : ""}` }, h("td", {}, face, level), facts, h("td", {}, add));
  }
}

function delta(n: number | null): string {
  return n === null ? "?" : n > 0 ? `+${n}` : n < 0 ? `−${-n}` : "·";
}
