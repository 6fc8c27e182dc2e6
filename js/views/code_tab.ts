/** The Python that does with TVM alone what was clicked here. */
import { button, h, setText } from "./dom.ts";
import { type State } from "./messages.ts";

export class CodeTab {
  readonly element: HTMLElement;
  readonly code = h("pre", { class: "wb-code", tabindex: "0", "data-testid": "code" });
  private readonly pipeline = h("code", { class: "wb-cut" });
  private readonly copied = h("span", { class: "wb-dim", role: "status" });

  constructor() {
    this.element = h("div", { class: "wb-code-tab" },
      h("div", { class: "wb-tools" }, button("Copy", "Copy the code", () => this.copy()), this.copied, this.pipeline), this.code);
  }

  show(state: State): void {
    setText(this.code, state.code || "Nothing to show yet.");
    setText(this.pipeline, state.pipeline_text ?? "");
    this.pipeline.title = state.pipeline_text ?? "";
  }

  private copy(): void {
    const done = (words: string) => {
      setText(this.copied, words);
      setTimeout(() => setText(this.copied, ""), 2000);
    };
    navigator.clipboard?.writeText(this.code.textContent ?? "").then(() => done("Copied"), () => done("Select the text and copy it: the page may not use the clipboard."));
  }
}
