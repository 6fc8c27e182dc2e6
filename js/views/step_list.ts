/** The passes of a trace as a list: what each did, how long it took, how many kernels there are by then. */
import { checkMark, failed, type Checks } from "./checks.ts";
import { h, replace, setText } from "./dom.ts";
import { icon } from "./icons.ts";
import { type CheckState, type StepState } from "./messages.ts";
import { type Counts, type Facts, type Pair, type TraceStore } from "./trace_store.ts";

export interface Listed {
  steps: readonly StepState[];
  step: number;
  pinned: readonly number[];
  hide: boolean;
  checks: Checks;
}

const SIGNS: [keyof Counts, string][] = [["added", "+"], ["removed", "−"], ["changed", "~"]];

export class StepList {
  readonly element: HTMLElement;
  private readonly list = h("ol", { class: "wb-passes", "data-testid": "pass-list", tabindex: "0", "aria-label": "Passes", onkeydown: (event: KeyboardEvent) => this.key(event) });
  private readonly filter: HTMLInputElement;
  private readonly hide: HTMLInputElement;
  private readonly hidden = h("span", { class: "wb-dim" });
  private rows: { element: HTMLElement; effect: HTMLElement; kernels: HTMLElement; name: HTMLElement; pin: HTMLButtonElement }[] = [];
  private drawn: readonly StepState[] | null = null;
  private state: Listed = { steps: [], step: -1, pinned: [], hide: true, checks: {} };

  onstep: (step: number) => void = () => undefined;
  onpin: (step: number) => void = () => undefined;
  onhide: (hide: boolean) => void = () => undefined;

  constructor(private readonly store: TraceStore) {
    this.filter = h("input", { class: "wb-input", type: "search", placeholder: "Filter passes", "aria-label": "Filter passes", "data-testid": "filter", oninput: () => this.sift() });
    this.hide = h("input", { type: "checkbox", "data-testid": "hide-unchanged", onchange: () => this.onhide(this.hide.checked) });
    this.element = h("div", { class: "wb-panel-body wb-step-list" },
      h("div", { class: "wb-filter" }, this.filter, h("label", { class: "wb-label" }, this.hide, "only changes"), this.hidden,
        h("div", { class: "wb-step-head wb-dim", "aria-hidden": "true" }, h("span", {}, "pass"), h("span", { title: "nodes added, removed, changed" }, "did"), h("span", { title: "kernels after it" }, "kernels"), h("span", {}, "time"))), this.list);
  }

  show(state: Listed): void {
    const moved = state.step !== this.state.step;
    this.state = state;
    if (state.steps !== this.drawn) {
      this.drawn = state.steps;
      this.rows = state.steps.map((step, i) => this.row(step, i));
      replace(this.list, this.rows.length > 0 ? this.rows.map((row) => row.element) : h("li", { class: "wb-empty" }, "This trace has no passes."));
    }
    this.hide.checked = state.hide;
    state.steps.forEach((step, i) => this.update(step, i));
    this.sift();
    if (moved) this.rows[state.step]?.element.scrollIntoView({ block: "nearest" });
  }

  /** Places of the steps that the list shows. */
  visible(): number[] {
    const wanted = this.filter.value.trim().toLowerCase();
    return this.state.steps.flatMap((step, i) => {
      const quiet = this.state.hide && step.status !== "changed" && step.status !== "error" && !failed(this.state.checks[i]);
      return quiet || !step.name.toLowerCase().includes(wanted) ? [] : [i];
    });
  }

  /** The visible step before or after one; the whole trace stands before the first. */
  next(from: number, way: 1 | -1): number {
    const visible = [-1, ...this.visible()];
    const at = way > 0 ? visible.find((i) => i > from) : visible.filter((i) => i < from).at(-1);
    return at ?? from;
  }

  private sift(): void {
    const visible = new Set(this.visible());
    this.rows.forEach((row, i) => { row.element.hidden = !visible.has(i); });
    const out = this.rows.length - visible.size;
    setText(this.hidden, out > 0 ? `${out} hidden` : "");
  }

  private row(step: StepState, i: number): (typeof this.rows)[number] {
    const effect = h("span", { class: "wb-effect" });
    const kernels = h("span", { class: "wb-step-kernels" });
    const name = h("button", { type: "button", class: "wb-pass-name", tabindex: "-1", "data-testid": `pass-${i}`, onclick: () => this.onstep(i) }, step.name);
    const pin: HTMLButtonElement = h("button", { type: "button", class: "wb-button wb-pin", tabindex: "-1", "data-testid": `pin-${i}`, title: `Pin the state after ${step.name}, to compare it with another one`, onclick: () => this.onpin(i) }, "pin");
    const element = h("li", { class: "wb-pass", style: `--depth: ${Math.min(step.depth, 6)}` }, name, effect, kernels, h("span", { class: "wb-step-time" }, time(step.seconds)), pin);
    return { element, effect, kernels, name, pin };
  }

  private update(step: StepState, i: number): void {
    const { element, effect, kernels, name, pin } = this.rows[i];
    const check = this.state.checks[i];
    const current = i === this.state.step;
    element.className = `wb-pass wb-pass-${failed(check) ? "error" : step.status}${current ? " wb-current" : ""}`;
    name.setAttribute("aria-current", current ? "step" : "false");
    const pair: Pair = [step.before, step.after];
    const counts = this.store.counts(pair);
    const facts = this.store.facts.get(step.after);
    name.title = title(step, this.store.facts.get(step.before), facts, counts, check);
    replace(effect, effectOf(step, counts, check));
    setText(kernels, step.status === "changed" && facts ? String(facts.kernels) : "");
    kernels.classList.toggle("wb-strong", facts?.kernels !== this.store.facts.get(step.before)?.kernels);
    const letter = this.state.pinned.map((at, k) => (at === i ? "AB"[k] : "")).join("");
    setText(pin, letter || "pin");
    pin.classList.toggle("wb-pinned", letter !== "");
    pin.setAttribute("aria-pressed", String(letter !== ""));
  }

  private key(event: KeyboardEvent): void {
    const way = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (way === 0) return;
    event.preventDefault();
    this.onstep(this.next(this.state.step, way as 1 | -1));
  }
}

export function time(seconds: number): string {
  const ms = seconds * 1000;
  return ms < 0.05 ? "" : ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${ms.toFixed(0)} ms` : `${seconds.toFixed(1)} s`;
}

function effectOf(step: StepState, counts: Counts | undefined, check: CheckState | undefined): (Node | string)[] {
  // What it did to the graph is beside the point then, and the name needs the room.
  if (failed(check)) return checkMark(check);
  const words: (Node | string)[] = checkMark(check);
  if (step.status === "error") return [h("span", { class: "wb-mark-removed wb-strong" }, "! failed"), ...words];
  if (step.status === "skipped" || step.status === "off") return [h("span", { class: "wb-dim" }, step.status), ...words];
  if (step.status !== "changed" || !counts) return words;
  const shown = SIGNS.filter(([mark]) => counts[mark]).map(([mark, sign]) => h("span", { class: `wb-mark-${mark}` }, `${sign}${counts[mark]}`));
  for (const mark of ["merged", "split"] as const) if (counts[mark]) shown.push(h("span", { class: "wb-mark-merged" }, icon(mark), String(counts[mark])));
  return [...words, ...(shown.length > 0 ? shown : [h("span", { class: "wb-dim", title: "The same ops, grouped or annotated differently" }, "regrouped")])];
}

function title(step: StepState, before: Facts | undefined, after: Facts | undefined, counts: Counts | undefined, check: CheckState | undefined): string {
  const sizes = before && after && step.status === "changed"
    ? (["nodes", "ops", "kernels"] as const).map((what) => `${before[what]} → ${after[what]} ${what}`).join(", ") : after ? `${after.nodes} nodes, ${after.ops} ops, ${after.kernels} kernels` : "";
  const did = counts ? Object.entries(counts).filter(([, n]) => n).map(([mark, n]) => `${n} ${mark}`).join(", ") : "";
  const words = { same: "changed nothing", off: "switched off", skipped: "not run at this opt level" }[step.status] ?? "";
  return [`${step.name}  ${time(step.seconds)}`, words, step.error, sizes, step.status === "changed" ? did : "", check?.text ?? ""].filter(Boolean).join("\n");
}

