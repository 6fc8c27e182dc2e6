/** The way through the pipeline: one tick a pass, bright where it changed something. */
import { button, h, replace, setText } from "./dom.ts";
import { type State } from "./messages.ts";

export class Steps {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly ticks = h("div", { class: "wb-ticks", "aria-hidden": "true" });
  private readonly words = h("span", { class: "wb-step-words" });
  private readonly whole: HTMLButtonElement;
  private state: State = {};
  private sent = 0;

  /** `rest`: milliseconds that the hand rests before a dragged step is asked for. */
  constructor(private readonly go: (step: number) => void, private readonly rest = 90) {
    this.slider = h("input", {
      type: "range", min: "-1", max: "0", step: "1", value: "-1", class: "wb-slider", "data-testid": "step-slider", "aria-label": "Step of the pipeline",
      oninput: () => this.slide(),
    });
    this.whole = button("Whole pipeline", "Input against the result of all passes", () => this.go(-1), { class: "wb-segment wb-single", "data-testid": "step-whole" });
    this.element = h("div", { class: "wb-steps" }, this.whole,
      button("‹", "Previous pass that changed something", () => this.jump(-1)),
      h("div", { class: "wb-track" }, this.ticks, this.slider),
      button("›", "Next pass that changed something", () => this.jump(1)), this.words);
  }

  private slide(): void {
    // A drag gives many values: the newest is sent when the hand rests.
    clearTimeout(this.sent);
    const index = Number(this.slider.value);
    this.tell(index);
    if (this.rest === 0) this.go(index);
    else this.sent = window.setTimeout(() => this.go(index), this.rest);
  }

  private jump(way: 1 | -1): void {
    const passes = this.state.passes ?? [];
    for (let i = (this.state.step ?? -1) + way; i >= -1 && i < passes.length; i += way) {
      if (i === -1 || passes[i].status === "changed" || passes[i].status === "error") return this.go(i);
    }
  }

  show(state: State): void {
    this.state = state;
    const passes = state.passes ?? [];
    this.element.hidden = state.mode === "context" && passes.length === 0;
    this.slider.max = String(Math.max(0, passes.length - 1));
    this.slider.disabled = passes.length === 0;
    const step = state.step ?? -1;
    this.slider.value = String(step);
    const tick = (i: number) => {
      const status = passes[i].enabled === false ? "off" : passes[i].status ?? "same";
      return h("span", { class: `wb-tick wb-tick-${status}${i === step ? " wb-current" : ""}`, style: `left: ${((i + 1) / Math.max(1, passes.length)) * 100}%` });
    };
    replace(this.ticks, h("span", { class: "wb-tick wb-tick-whole", style: "left: 0%" }), passes.map((_, i) => tick(i)));
    this.whole.setAttribute("aria-pressed", String(step === -1));
    this.tell(step);
  }

  private tell(step: number): void {
    const passes = this.state.passes ?? [];
    const pass = passes[step];
    const time = pass && typeof pass.seconds === "number" ? ` · ${(pass.seconds * 1000).toFixed(1)} ms` : "";
    const what = { off: " · off", same: " · no change", error: " · failed", skipped: " · not reached", wrong: " · other answer", changed: "" }[pass?.status ?? "changed"];
    const words = pass ? `${step + 1} / ${passes.length}  ${pass.name}${what}${time}` : `All ${passes.length} passes`;
    setText(this.words, words);
    this.slider.setAttribute("aria-valuetext", words);
  }
}
