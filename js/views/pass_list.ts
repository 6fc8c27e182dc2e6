/** The passes, each with its switch and what it did; a click on a name shows that step. */
import { icon } from "./icons.ts";
import { button, h, replace, setText } from "./dom.ts";
import { type PassState, type Send, type State } from "./state.ts";

interface Row {
  element: HTMLElement;
  update(pass: PassState, current: boolean): void;
}

export class PassList {
  readonly element: HTMLElement;
  private readonly list = h("ol", { class: "wb-passes", "data-testid": "pass-list" });
  private readonly filter: HTMLInputElement;
  private rows: Row[] = [];
  private drawn = "";
  private passes: PassState[] = [];

  constructor(private readonly send: Send) {
    this.filter = h("input", { class: "wb-input", type: "search", placeholder: "Filter passes", "aria-label": "Filter passes", oninput: () => this.sift() });
    this.element = h("div", { class: "wb-panel-body" }, h("div", { class: "wb-filter" }, this.filter), this.list);
  }

  show(state: State): void {
    const context = state.mode === "context";
    this.passes = (context ? state.context?.toggles : state.passes) ?? [];
    const key = `${context}|${this.passes.map((p) => p.name).join("|")}`;
    if (key !== this.drawn) {
      this.drawn = key;
      this.rows = this.passes.map((pass, i) => (context ? this.toggleRow(pass) : this.stepRow(pass, i)));
      replace(this.list, this.rows.length > 0 ? this.rows.map((row) => row.element) : h("li", { class: "wb-empty" }, "No passes. Choose a preset above."));
      this.sift();
    }
    const step = state.step ?? -1;
    this.rows.forEach((row, i) => row.update(this.passes[i], !context && i === step));
  }

  private sift(): void {
    const wanted = this.filter.value.trim().toLowerCase();
    this.rows.forEach((row, i) => { row.element.hidden = wanted !== "" && !this.passes[i].name.toLowerCase().includes(wanted); });
  }

  private stepRow(pass: PassState, index: number): Row {
    const box = this.checkbox(pass, (enabled) => this.send({ type: "toggle", index, enabled }));
    const effect = h("span", { class: "wb-effect" });
    const name = h("button", {
      type: "button", class: "wb-pass-name", "data-testid": `pass-${index}`, onclick: () => this.send({ type: "step", index }),
      onkeydown: (event: KeyboardEvent) => {
        if (!event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
        event.preventDefault();
        this.move(index, event.key === "ArrowUp" ? index - 1 : index + 1);
      },
    }, pass.name);
    const element = h("li", { class: "wb-pass", draggable: "true" }, box, name, effect,
      h("span", { class: "wb-row-tools" },
        button("↑", `Move ${pass.name} up (Alt + ↑)`, () => this.move(index, index - 1), { tabindex: "-1" }),
        button("↓", `Move ${pass.name} down (Alt + ↓)`, () => this.move(index, index + 1), { tabindex: "-1" })));
    this.drag(element, index);
    return {
      element,
      update: (now, current) => {
        setBox(box, now);
        const status = now.enabled === false ? "off" : now.status ?? "same";
        element.className = `wb-pass wb-pass-${status}${current ? " wb-current" : ""}`;
        name.setAttribute("aria-current", current ? "step" : "false");
        name.title = title(now, status);
        replace(effect, effectOf(now, status));
      },
    };
  }

  private toggleRow(pass: PassState): Row {
    const box = this.checkbox(pass, (enabled) => this.send({ type: "toggle_context", name: pass.name, enabled }));
    const name = h("span", { class: "wb-pass-name" }, pass.name);
    const level = h("span", { class: "wb-effect wb-dim" });
    const element = h("li", { class: "wb-pass" }, box, name, level);
    return {
      element,
      update: (now) => {
        setBox(box, now);
        element.className = `wb-pass wb-toggle wb-pass-${now.enabled === false ? "off" : "changed"}`;
        name.title = [now.doc, now.reason].filter(Boolean).join("\n");
        setText(level, now.locked ? "always" : now.opt_level !== undefined ? `≥ ${now.opt_level}` : "");
        level.title = now.locked ? now.reason ?? "" : now.opt_level !== undefined ? `On from opt level ${now.opt_level}` : "";
      },
    };
  }

  private checkbox(pass: PassState, changed: (enabled: boolean) => void): HTMLInputElement {
    const box: HTMLInputElement = h("input", { type: "checkbox", "data-testid": `toggle-${pass.name}`, "aria-label": pass.name, onchange: () => changed(box.checked) });
    return box;
  }

  private move(index: number, to: number): void {
    if (to >= 0 && to < this.passes.length) this.send({ type: "move", index, to });
  }

  private drag(element: HTMLElement, index: number): void {
    element.addEventListener("dragstart", (event) => event.dataTransfer?.setData("application/x-wb-pass", String(index)));
    element.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("application/x-wb-pass")) event.preventDefault();
    });
    element.addEventListener("drop", (event) => {
      const from = Number(event.dataTransfer?.getData("application/x-wb-pass") || NaN);
      if (Number.isInteger(from) && from !== index) { event.preventDefault(); this.move(from, index); }
    });
  }
}

function setBox(box: HTMLInputElement, pass: PassState): void {
  box.checked = pass.enabled !== false;
  box.disabled = pass.locked === true;
  box.title = pass.locked ? pass.reason ?? "This pass can't be switched off." : "";
}

function title(pass: PassState, status: string): string {
  const time = typeof pass.seconds === "number" ? `${(pass.seconds * 1000).toFixed(1)} ms` : "";
  const size = typeof pass.nodes === "number" ? `${pass.nodes} nodes after` : "";
  const words = { off: "switched off", same: "changed nothing", changed: "", error: pass.message ?? "failed", skipped: pass.message ?? "not reached" }[status] ?? "";
  return [pass.text && pass.text !== pass.name ? pass.text : "", pass.doc, words, [time, size].filter(Boolean).join(", "), pass.locked ? pass.reason : ""].filter(Boolean).join("\n");
}

function effectOf(pass: PassState, status: string): (Node | string)[] {
  if (status === "error") return [h("span", { class: "wb-mark-removed wb-strong", title: pass.message ?? "" }, "! failed")];
  if (status !== "changed") return [];
  const parts: [string, number | undefined, string][] = [["+", pass.added, "added"], ["−", pass.removed, "removed"], ["~", pass.changed, "changed"]];
  const shown = parts.filter(([, n]) => n).map(([sign, n, mark]) => h("span", { class: `wb-mark-${mark}`, title: `${n} ${mark}` }, `${sign}${n}`));
  for (const kind of ["merged", "split"] as const) {
    const n = pass[kind];
    if (n) shown.push(h("span", { class: "wb-mark-merged", title: `${n} ${kind}` }, icon(kind), `${n}`));
  }
  return shown.length > 0 ? shown : [h("span", { class: "wb-dim", title: "Changed the grouping or the types, not the ops" }, "regrouped")];
}
