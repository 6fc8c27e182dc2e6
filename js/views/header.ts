/** The workbench's first line: what is open, how passes are chosen, presets, undo. */
import { checkButton } from "./checks.ts";
import { button, h, replace, setText } from "./dom.ts";
import { icon } from "./icons.ts";
import { type State } from "./messages.ts";
import { type Send } from "./model.ts";

const SAVE = "\u0000save";

export class Header {
  readonly element: HTMLElement;
  private readonly title = h("span", { class: "wb-title" });
  private readonly entries: HTMLSelectElement;
  private readonly facts = h("span", { class: "wb-dim wb-cut" });
  private readonly modes: Record<string, HTMLButtonElement>;
  private readonly level: HTMLSelectElement;
  private readonly levelLabel: HTMLElement;
  private readonly presets: HTMLSelectElement;
  private presetNames = "";
  private readonly name: HTMLInputElement;
  private readonly own = h("span", { class: "wb-own" });
  private readonly words = h("span", { class: "wb-refused", role: "alert", "data-testid": "preset-refused" });
  /** Beneath the header: where a preset gets its name. */
  readonly form: HTMLElement;
  /** Beneath the header: what was repaired or assumed when the program was loaded. */
  readonly notes = h("ul", { class: "wb-found wb-notes", hidden: true, "data-testid": "notes" });
  private readonly noted: HTMLButtonElement;

  constructor(private readonly send: Send) {
    this.modes = {
      pipeline: button("Pipeline", "Our own list of passes, in order", () => send({ type: "mode", value: "pipeline" }), { class: "wb-segment", "data-testid": "pipeline-mode" }),
      context: button("Compiler", "The compiler's own pipeline: opt level, disabled and required passes", () => send({ type: "mode", value: "context" }), { class: "wb-segment", "data-testid": "context-mode" }),
    };
    this.level = h("select", {
      class: "wb-select", "data-testid": "opt-level", "aria-label": "Optimisation level",
      onchange: () => send({ type: "opt_level", value: Number(this.level.value) }),
    }, [0, 1, 2, 3, 4].map((n) => h("option", { value: n }, String(n))));
    this.levelLabel = h("label", { class: "wb-label", title: "PassContext(opt_level=...)" }, "opt level", this.level);
    this.entries = h("select", {
      class: "wb-select", "aria-label": "Function of the module", title: "The function of the module that is built and run", "data-testid": "entries", hidden: true,
      onchange: () => send({ type: "entry", name: this.entries.value }),
    });
    this.presets = h("select", {
      class: "wb-select", "aria-label": "Presets", "data-testid": "presets", hidden: true,
      onchange: () => {
        const { value } = this.presets;
        this.presets.value = "";
        if (value === SAVE) this.open();
        else if (value) send({ type: "preset", name: value });
      },
    });
    const close = () => { this.form.hidden = true; this.presets.focus(); };
    const save = () => send({ type: "save_preset", name: this.name.value });
    this.name = h("input", {
      class: "wb-input", placeholder: "Name", "aria-label": "Name of the preset", "data-testid": "preset-name", maxlength: 80,
      onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") save(); else if (event.key === "Escape") close(); },
    });
    this.form = h("div", { class: "wb-preset-form", hidden: true }, "Keep these passes as", this.name, button("Save", "Save as a preset, for every later Workbench", save, { class: "wb-button wb-primary", "data-testid": "preset-save" }), this.words, this.own,
      h("span", { class: "wb-space" }), button("×", "Close", close));
    this.noted = button("", "What was repaired or assumed when this was loaded", () => {
      this.notes.hidden = !this.notes.hidden;
      this.noted.setAttribute("aria-expanded", String(!this.notes.hidden));
    }, { class: "wb-button wb-small", "aria-expanded": "false", "data-testid": "noted", hidden: true });
    this.element = h("header", { class: "wb-header" }, this.title, this.entries, this.facts, this.noted, h("span", { class: "wb-space" }),
      this.levelLabel, h("div", { class: "wb-segments", role: "group", "aria-label": "How passes are chosen" }, this.modes.pipeline, this.modes.context),
      this.presets, checkButton(send),
      h("div", { class: "wb-group" },
        button(icon("undo"), "Undo (u)", () => send({ type: "undo" }), { "data-testid": "undo" }),
        button(icon("redo"), "Redo (U)", () => send({ type: "redo" }), { "data-testid": "redo" })));
  }

  show(state: State): void {
    setText(this.title, state.title ?? "");
    const dialect = state.dialect ? state.dialect[0].toUpperCase() + state.dialect.slice(1) : "";
    const facts = [dialect, state.tvm ? `TVM ${state.tvm}` : "", state.target ?? ""].filter(Boolean).join(" · ");
    setText(this.facts, facts);
    this.facts.title = facts;
    const entries = state.entries ?? [];
    this.entries.hidden = entries.length < 2;
    if (this.entries.childElementCount !== entries.length) replace(this.entries, entries.map((name) => h("option", { value: name }, name)));
    this.entries.value = state.entry ?? "";
    const notes = state.notes ?? [];
    this.noted.hidden = !notes.length;
    setText(this.noted, `${notes.length} ${notes.length === 1 ? "note" : "notes"}`);
    if (this.notes.textContent !== notes.join("")) replace(this.notes, notes.map((note) => h("li", {}, note)));
    const mode = state.mode ?? "pipeline";
    for (const [name, element] of Object.entries(this.modes)) element.setAttribute("aria-pressed", String(name === mode));
    this.level.value = String(state.context?.opt_level ?? 3);
    this.levelLabel.hidden = state.context?.opt_level === undefined;
    const presets = state.presets ?? [];
    const names = JSON.stringify(presets);
    if (names !== this.presetNames) {
      this.presetNames = names;
      const own = presets.filter((p) => p.own);
      const options = (list: typeof presets) => list.map((p) => h("option", { value: p.name, title: p.doc ?? "" }, p.name));
      replace(this.presets, h("option", { value: "" }, "Presets"), options(presets.filter((p) => !p.own)), own.length > 0 ? h("optgroup", { label: "Yours" }, options(own)) : null, h("option", { value: SAVE }, "Save or delete …"));
      replace(this.own, own.map((p) => h("span", { class: "wb-label" }, p.name, button("×", `Delete the preset ${p.name}`, () => this.send({ type: "delete_preset", name: p.name }), { "data-testid": `preset-delete-${p.name}` }))));
      // It was saved, or deleted.
      this.name.value = "";
    }
    const refused = state.refused?.form === "preset" ? state.refused.text : "";
    if (state.presets_note && state.presets_note !== this.words.textContent && !refused) this.form.hidden = false;
    setText(this.words, refused || state.presets_note || "");
    this.presets.hidden = presets.length === 0;
  }

  private open(): void {
    this.form.hidden = false;
    this.name.focus();
  }
}
