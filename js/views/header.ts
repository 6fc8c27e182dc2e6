/** The workbench's first line: what is open, how passes are chosen, presets, undo. */
import { button, h, replace, setText } from "./dom.ts";
import { icon } from "./icons.ts";
import { type Send, type State } from "./state.ts";

export class Header {
  readonly element: HTMLElement;
  private readonly title = h("span", { class: "wb-title" });
  private readonly facts = h("span", { class: "wb-dim wb-cut" });
  private readonly modes: Record<string, HTMLButtonElement>;
  private readonly level: HTMLSelectElement;
  private readonly levelLabel: HTMLElement;
  private readonly presets: HTMLSelectElement;
  private presetNames = "";

  constructor(send: Send) {
    this.modes = {
      pipeline: button("Pipeline", "Our own list of passes, in order", () => send({ type: "mode", value: "pipeline" }), { class: "wb-segment", "data-testid": "pipeline-mode" }),
      context: button("Compiler", "The compiler's own pipeline: opt level, disabled and required passes", () => send({ type: "mode", value: "context" }), { class: "wb-segment", "data-testid": "context-mode" }),
    };
    this.level = h("select", {
      class: "wb-select", "data-testid": "opt-level", "aria-label": "Optimisation level",
      onchange: () => send({ type: "opt_level", value: Number(this.level.value) }),
    }, [0, 1, 2, 3, 4].map((n) => h("option", { value: n }, String(n))));
    this.levelLabel = h("label", { class: "wb-label", title: "PassContext(opt_level=...)" }, "opt level", this.level);
    this.presets = h("select", {
      class: "wb-select", "aria-label": "Presets", "data-testid": "presets", hidden: true,
      onchange: () => {
        if (this.presets.value) send({ type: "preset", name: this.presets.value });
        this.presets.value = "";
      },
    });
    this.element = h("header", { class: "wb-header" }, this.title, this.facts, h("span", { class: "wb-space" }),
      this.levelLabel, h("div", { class: "wb-segments", role: "group", "aria-label": "How passes are chosen" }, this.modes.pipeline, this.modes.context),
      this.presets,
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
    const mode = state.mode ?? "pipeline";
    for (const [name, element] of Object.entries(this.modes)) element.setAttribute("aria-pressed", String(name === mode));
    this.level.value = String(state.context?.opt_level ?? 3);
    this.levelLabel.hidden = state.context?.opt_level === undefined;
    const presets = state.presets ?? [];
    const names = presets.map((p) => p.name).join("\n");
    if (names !== this.presetNames) {
      this.presetNames = names;
      replace(this.presets, h("option", { value: "" }, "Presets"), presets.map((p) => h("option", { value: p.name, title: p.doc ?? "" }, p.name)));
    }
    this.presets.hidden = presets.length === 0;
  }
}
