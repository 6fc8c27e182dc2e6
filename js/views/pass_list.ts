/** The passes, each with its switch and what it did; a click on a name shows that step. Found ones are added from the catalogue. */
import { checkMark, failed, type Checks } from "./checks.ts";
import { button, h, replace, setText } from "./dom.ts";
import { icon } from "./icons.ts";
import { Field } from "./option_form.ts";
import { type Catalog, type CheckState, type PassState, type State } from "./messages.ts";
import { type Send } from "./model.ts";

interface Row {
  element: HTMLElement;
  focus: HTMLElement;
  update(pass: PassState, current: boolean, check: CheckState | undefined): void;
}

/** Rows of the catalogue that are listed at once. */
const MOST = 80;
const DRAGGED = "application/x-wb-pass";

export class PassList {
  readonly element: HTMLElement;
  private readonly list = h("ol", { class: "wb-passes", "data-testid": "pass-list" });
  private readonly more = h("ul", { class: "wb-passes wb-catalog", "data-testid": "catalog", "aria-label": "Catalogue" });
  private readonly filter: HTMLInputElement;
  private readonly all: HTMLButtonElement;
  private rows: Row[] = [];
  private drawn = "";
  private listed = "";
  private state: State = {};
  private checks: Checks = {};
  private passes: PassState[] = [];
  private catalog: Catalog = {};
  private context = false;
  /** The pass whose options and words are open, and the one that has the focus after the list is made anew. */
  private opened = -1;
  private focused = -1;
  private settings: Field[] = [];

  constructor(private readonly send: Send) {
    this.filter = h("input", { class: "wb-input", type: "search", "data-testid": "pass-filter", oninput: () => this.sift() });
    this.all = button("+", "", () => { this.all.setAttribute("aria-pressed", String(!this.open)); this.sift(); this.more.scrollIntoView({ block: "nearest" }); }, { class: "wb-segment wb-single", "aria-pressed": "false", "data-testid": "pass-add" });
    this.element = h("div", { class: "wb-panel-body" }, h("div", { class: "wb-filter wb-find" }, this.filter, this.all), this.list, this.more);
  }

  private get open(): boolean {
    return this.all.getAttribute("aria-pressed") === "true";
  }

  setCatalog(catalog: Catalog): void {
    this.catalog = catalog;
    this.listed = "";
    this.sift();
  }

  show(state: State, checks: Checks): void {
    this.state = state;
    this.checks = checks;
    // What was looked for in one list is not in the other.
    if (this.context !== (this.context = state.mode === "context")) this.filter.value = "";
    this.passes = (this.context ? state.context?.toggles : state.passes) ?? [];
    const refused = state.refused?.form.match(/^pass (\d+)$/);
    if (refused) this.opened = Number(refused[1]);
    this.draw();
  }

  private draw(): void {
    this.make();
    const step = this.context || this.state.preview ? -1 : this.state.step ?? -1;
    this.rows.forEach((row, i) => row.update(this.passes[i], i === step, this.checks[i]));
    this.sift();
  }

  private make(): void {
    const key = `${this.context}|${this.opened}|${this.passes.map((p) => p.name).join("|")}`;
    if (key === this.drawn) return;
    this.drawn = key;
    // An undo, or a change from Python, replaces rows too: the focus stays at its place.
    if (this.focused < 0) this.focused = this.rows.findIndex((row) => row.element.contains(document.activeElement));
    this.rows = this.passes.map((pass, i) => (this.context ? this.toggleRow(pass) : this.stepRow(pass, i)));
    replace(this.list, this.rows.length > 0 ? this.rows.map((row) => row.element) : h("li", { class: "wb-empty" }, "No passes. Add one with +, or choose a preset above."));
    if (this.focused >= 0) this.rows[Math.min(this.focused, this.rows.length - 1)]?.focus.focus();
    this.focused = -1;
    const [face, what] = this.context ? ["Filter passes and config keys", "All config keys of PassContext"] : ["Filter, or find a pass to add", "All passes that can be added"];
    this.filter.placeholder = face;
    this.filter.setAttribute("aria-label", face);
    this.all.title = what;
    this.all.setAttribute("aria-label", what);
  }

  // ---- what there is besides ---------------------------------------------------------------------------------------

  private sift(): void {
    const wanted = this.filter.value.trim().toLowerCase();
    const has = (text: string) => text.toLowerCase().includes(wanted);
    this.rows.forEach((row, i) => { row.element.hidden = wanted !== "" && !has(this.passes[i].name); });
    if (this.context) this.sayKeys(wanted, has);
    else if (this.listed !== (this.listed = `${this.open} ${wanted} ${this.place}`)) this.sayPasses(wanted, has);
  }

  /** Where a pass that is added goes: after the step that is shown, else at the end. */
  private get place(): number {
    const step = this.state.step ?? -1;
    return step >= 0 ? step + 1 : this.passes.length;
  }

  private sayPasses(wanted: string, has: (text: string) => boolean): void {
    this.settings = [];
    const found = this.open || wanted ? (this.catalog.passes ?? []).filter((pass) => has(pass.name) || (wanted.length > 2 && has(pass.doc))) : [];
    const after = this.place > 0 ? `after ${this.passes[this.place - 1]?.name}` : "as the first pass";
    const rows = found.slice(0, MOST).map(({ name, doc, reason, locked, ours, opt_level }) => h("li", { class: "wb-found" },
      h("button", { type: "button", class: "wb-link", disabled: reason !== "", "data-testid": `add-${name}`, title: reason || `Add ${name} ${after}`, onclick: () => this.add(name) }, `+ ${name}`),
      h("span", { class: "wb-dim" }, ours ? " ours" : "", opt_level ? ` ≥ ${opt_level}` : "", locked ? lock(locked) : null),
      h("div", { class: "wb-dim", title: doc }, reason ? `Not by name: ${reason}` : brief(doc))));
    replace(this.more, found.length > 0 ? [h("li", { class: "wb-dim wb-found" }, `Add ${after}:`), ...rows] : null);
  }

  private add(name: string): void {
    const index = this.place;
    this.filter.value = "";
    this.all.setAttribute("aria-pressed", "false");
    this.focused = index;
    this.send({ type: "add", name, index });
  }

  private sayKeys(wanted: string, has: (text: string) => boolean): void {
    const given = this.state.context?.options ?? {};
    const refused = this.state.refused?.form === "setting" ? this.state.refused : null;
    const shown = (this.catalog.settings ?? []).filter(({ name }) => name in given || name === refused?.field || ((this.open || wanted !== "") && has(name)));
    const key = `keys ${shown.map(({ name }) => name).join()}`;
    if (key !== this.listed) {
      this.listed = key;
      this.settings = shown.map((spec) => new Field(spec, `setting-${spec.name}`, (text) => this.send({ type: "setting", name: spec.name, text })));
      replace(this.more, h("li", { class: "wb-dim wb-found" }, shown.length > 0 ? "PassContext config" : "Config keys: press + or type a part of the name."), this.settings.map((field) => h("li", { class: "wb-found" }, field.element)));
    }
    for (const field of this.settings) field.update(given[field.spec.name], refused?.field === field.spec.name ? refused.text : "");
  }

  // ---- rows --------------------------------------------------------------------------------------------------------

  private stepRow(pass: PassState, index: number): Row {
    const box = this.checkbox(pass, (enabled) => this.send({ type: "toggle", index, enabled }));
    const effect = h("span", { class: "wb-effect" });
    const options = h("span", { class: "wb-dim" });
    const opened = index === this.opened;
    const details = opened ? this.details(pass, index) : null;
    const name = h("button", {
      type: "button", class: "wb-pass-name", "data-testid": `pass-${index}`, onclick: () => this.send({ type: "step", index }),
      onkeydown: (event: KeyboardEvent) => this.key(event, index),
    }, pass.name, options);
    const tool = (face: string, label: string, act: () => void, id: string) => button(face, label, act, { tabindex: "-1", "data-testid": `${id}-${index}` });
    const line = h("div", { class: "wb-pass", draggable: "true" }, box, name, pass.reason ? lock(pass.reason) : null, effect,
      h("span", { class: "wb-row-tools" },
        tool("↑", `Move ${pass.name} up (Alt + ↑)`, () => this.move(index, index - 1), "up"),
        tool("↓", `Move ${pass.name} down (Alt + ↓)`, () => this.move(index, index + 1), "down"),
        tool("+", `Duplicate ${pass.name} (+)`, () => this.duplicate(index), "duplicate"),
        tool("×", `Remove ${pass.name} (Delete)`, () => this.remove(index), "remove"),
        button("…", `Options of ${pass.name} (o)`, () => this.unfold(index), { tabindex: "-1", "aria-expanded": String(opened), "data-testid": `options-${index}` })));
    this.drag(line, index);
    return {
      element: h("li", {}, line, details?.element),
      focus: name,
      update: (now, current, check) => {
        setBox(box, now);
        const status = failed(check) ? "error" : now.enabled === false ? "off" : now.status ?? "same";
        line.className = `wb-pass wb-pass-${status}${current ? " wb-current" : ""}`;
        name.setAttribute("aria-current", current ? "step" : "false");
        name.title = [title(now, status), check?.text].filter(Boolean).join("\n");
        setText(options, Object.entries(now.options ?? {}).map(([key, value]) => ` ${key}=${value}`).join(""));
        replace(effect, checkMark(check), failed(check) ? null : effectOf(now, status));
        details?.update(now);
      },
    };
  }

  /** What a pass is, why it is needed, and its options. */
  private details(pass: PassState, index: number): { element: HTMLElement; update(now: PassState): void } {
    const specs = this.catalog.passes?.find(({ name }) => name === pass.name)?.options ?? [];
    const fields = specs.map((spec) => new Field(spec, `option-${index}-${spec.name}`, (text) => this.send({ type: "option", index, name: spec.name, text })));
    const message = h("div", { class: "wb-mark-removed" });
    const refused = h("div", { class: "wb-refused", role: "alert" });
    const element = h("div", { class: "wb-details", "data-testid": `details-${index}` }, h("div", { class: "wb-dim" }, pass.doc || "A pass of this notebook."),
      pass.reason ? h("div", {}, lock(pass.reason), ` Needed: ${pass.reason}`) : null, message, fields.map((field) => field.element), refused);
    return {
      element,
      update: (now) => {
        const told = this.state.refused?.form === `pass ${index}` ? this.state.refused : null;
        for (const field of fields) field.update(now.options?.[field.spec.name], told?.field === field.spec.name ? told.text : "");
        setText(refused, told && !fields.some((field) => field.spec.name === told.field) ? told.text : "");
        setText(message, now.status === "error" || now.status === "skipped" ? now.message ?? "" : "");
      },
    };
  }

  private toggleRow(pass: PassState): Row {
    const box = this.checkbox(pass, (enabled) => this.send({ type: "toggle_context", name: pass.name, enabled }));
    const name = h("span", { class: "wb-pass-name" }, pass.name);
    const level = h("span", { class: "wb-effect wb-dim" });
    const element = h("li", { class: "wb-pass" }, box, name, pass.locked ? lock(pass.reason ?? "") : null, level);
    return {
      element,
      focus: box,
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

  // ---- editing -----------------------------------------------------------------------------------------------------

  private key(event: KeyboardEvent, index: number): void {
    const way = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (way && event.altKey) this.move(index, index + way);
    else if (way) this.rows[index + way]?.focus.focus();
    else if (event.key === "Delete" || event.key === "Backspace") this.remove(index);
    else if (event.key === "+") this.duplicate(index);
    else if (event.key === "o") this.unfold(index);
    else if (event.key === "u") this.send({ type: "undo" });
    else if (event.key === "U") this.send({ type: "redo" });
    else return;
    event.preventDefault();
  }

  private unfold(index: number): void {
    this.opened = this.opened === index ? -1 : index;
    this.focused = index;
    if (this.state.refused) this.state = { ...this.state, refused: null };
    this.draw();
    this.list.querySelector<HTMLElement>(".wb-details :is(input, select)")?.focus();
  }

  private duplicate(index: number): void {
    this.focused = index + 1;
    this.send({ type: "duplicate", index });
  }

  private remove(index: number): void {
    this.focused = index;
    if (this.opened >= index) this.opened = -1;
    this.send({ type: "remove", index });
  }

  private move(index: number, to: number): void {
    if (to < 0 || to >= this.passes.length) return;
    this.focused = to;
    if (this.opened >= 0) this.opened = this.opened === index ? to : -1;
    this.send({ type: "move", index, to });
  }

  private drag(element: HTMLElement, index: number): void {
    const over = (on: boolean) => element.classList.toggle("wb-drop", on);
    element.addEventListener("dragstart", (event) => event.dataTransfer?.setData(DRAGGED, String(index)));
    element.addEventListener("dragleave", () => over(false));
    element.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes(DRAGGED)) return;
      event.preventDefault();
      over(true);
    });
    element.addEventListener("drop", (event) => {
      over(false);
      const from = Number(event.dataTransfer?.getData(DRAGGED) || NaN);
      if (Number.isInteger(from) && from !== index) { event.preventDefault(); this.move(from, index); }
    });
  }
}

/** A pass that lowering needs; why is said before anybody tries. */
function lock(reason: string): HTMLElement {
  return h("span", { class: "wb-lock", role: "img", title: `Needed: ${reason}`, "aria-label": `Needed: ${reason}` }, icon("lock"));
}

/** The first sentence. */
function brief(doc: string): string {
  const end = doc.search(/[.:](\s|$)/);
  return end < 0 ? doc : doc.slice(0, end);
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
