/** The kernels of the compiler's own build, where they are others than the picture's, and the passes that explain it. */
import { button, h, replace, setText } from "./dom.ts";
import { type State } from "./messages.ts";
import { type Send } from "./model.ts";

export class RealBuild {
  /** Beside the number by the graph. */
  readonly element = h("span", { class: "wb-real-build", hidden: true, "data-testid": "real-build" });
  /** Above the graph: what the build does otherwise, until it is closed. */
  readonly list = h("div", { class: "wb-notes wb-why", hidden: true, "data-testid": "build-why" });
  private readonly count = h("span", { class: "wb-strong" });
  private readonly ask: HTMLButtonElement;
  private wanted = false;
  private listing = false;
  private why: readonly string[] = [];
  private drawn = "";

  /** In a saved page no Python lists the passes. */
  constructor(send: Send, saved: boolean) {
    this.ask = button("why?", "The passes that the build runs beyond these", () => {
      this.wanted = !this.wanted;
      if (this.wanted && this.why.length === 0) send({ type: "build" });
      this.draw();
    }, { class: "wb-link", "data-testid": "build-ask", "aria-expanded": "false" });
    this.ask.hidden = saved;
    replace(this.element, this.count, " ", this.ask);
  }

  show(state: State): void {
    const { kernels, failed, opt_level: level, why = [], listing = false } = state.build ?? {};
    const shown = state.counts?.after_kernels;
    const whole = (state.step ?? -1) === -1 && !state.preview && (state.mode ?? "pipeline") === "pipeline";
    const known = typeof kernels === "number" || Boolean(failed);
    const here = level === (state.context?.opt_level ?? level);
    this.element.hidden = !whole || !known || !here || kernels === shown;
    const listed = failed ? [failed] : why;
    // Of another pipeline it would be another list; and a list that was cancelled does not come.
    if (this.element.hidden || ((this.why.length > 0 || (this.listing && !listing)) && listed.length === 0)) this.wanted = false;
    this.why = listed;
    this.listing = listing;
    setText(this.count, failed ? "· the build fails" : `· build: ${kernels?.toLocaleString("en") ?? ""}`);
    this.element.title = failed || `The compiler's own pipeline at opt level ${level ?? ""}, with its parameters, for this target`;
    this.draw();
  }

  private draw(): void {
    this.list.hidden = !this.wanted;
    this.ask.setAttribute("aria-expanded", String(this.wanted));
    const key = JSON.stringify(this.why);
    if (key === this.drawn) return;
    this.drawn = key;
    replace(this.list, this.why.length > 0 ? h("ul", { class: "wb-found" }, this.why.map((line) => h("li", {}, line))) : h("p", { class: "wb-dim" }, "The build's passes are being listed …"));
  }
}
