/** The line that tells: what is being done and how far it is, with Cancel; and errors, in words, until they are closed. */
import { button, h, replace, setText } from "./dom.ts";
import { type State } from "./messages.ts";
import { type Send } from "./model.ts";

/** Work shorter than this needs no words. */
const PATIENCE_MS = 300;

export class BusyStrip {
  readonly element: HTMLElement;
  private readonly what = h("span", { class: "wb-cut" });
  private readonly elapsed = h("span", { class: "wb-dim" });
  private readonly bar = h("progress", { class: "wb-progress", "aria-label": "Progress" });
  private timer = 0;
  private since = 0;

  constructor(send: Send) {
    this.element = h("div", { class: "wb-busy", role: "status", "data-testid": "busy", hidden: true },
      h("span", { class: "wb-spinner", "aria-hidden": "true" }), this.what, this.bar, this.elapsed,
      button("Cancel", "Stop this work", () => send({ type: "cancel" }), { class: "wb-button wb-primary", "data-testid": "cancel" }));
  }

  show(busy: State["busy"]): void {
    clearInterval(this.timer);
    if (!busy) {
      this.element.hidden = true;
      this.since = 0;
      return;
    }
    // The kernel's clock says when the work began, unless it is another machine's and wrong.
    const told = typeof busy.since === "number" ? Date.now() - busy.since * 1000 : -1;
    this.since ||= performance.now() - (told > 0 && told < 86_400_000 ? told : 0);
    setText(this.what, busy.what ?? "Working");
    if (typeof busy.fraction === "number") this.bar.value = busy.fraction;
    else this.bar.removeAttribute("value");
    const tick = () => {
      const ms = performance.now() - this.since;
      this.element.hidden = ms < PATIENCE_MS;
      setText(this.elapsed, `${(ms / 1000).toFixed(0)} s`);
    };
    tick();
    this.timer = window.setInterval(tick, 150);
  }

  dispose(): void {
    clearInterval(this.timer);
  }
}

export class ErrorStrip {
  readonly element = h("div", { class: "wb-error", role: "alert", "data-testid": "error", hidden: true });
  private shown = "";

  show(error: State["error"]): void {
    const key = error ? `${error.title}\n${error.text}` : "";
    if (key === this.shown) return;
    this.shown = key;
    this.element.hidden = !error;
    if (!error) return;
    replace(this.element, h("div", { class: "wb-error-head" }, h("span", { class: "wb-sign" }, "!"), h("span", { class: "wb-strong" }, error.title || "Something failed"), h("span", { class: "wb-space" }),
      button("×", "Close this message", () => { this.element.hidden = true; })),
    error.text ? h("pre", { class: "wb-error-text" }, error.text.slice(0, 20000)) : null);
  }
}
