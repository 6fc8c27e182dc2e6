/** What every view stands in: the style sheet, the theme, the keys' home, and the list of what to undo at the end. */
import packed from "../style.css";
import { canvasRuler, type Ruler } from "../render/text.ts";
import { readTheme, watchTheme, type Theme } from "../render/theme.ts";
import { unzipped } from "../unzip.ts";
import { h } from "./dom.ts";

/** Before the first view: what a view measures depends on it. */
const css = await unzipped(packed);

export class Shell {
  readonly root: HTMLElement;
  /** Spoken by screen readers, and shown where there is room. */
  readonly status = h("div", { class: "wb-status", role: "status", "aria-live": "polite" });
  theme: Theme;
  ruler: Ruler;
  private readonly themed = new Set<(theme: Theme) => void>();
  private readonly ends: (() => void)[] = [];

  constructor(el: HTMLElement, kind: string) {
    // The attribute keeps JupyterLab's shortcuts out; they listen before any handler here could stop them. See dom.ts too.
    this.root = h("div", { class: `wb wb-${kind}`, "data-lm-suppress-shortcuts": "true" }, h("style", {}, css));
    // JupyterLab hands out an element that is not in the page yet, and there styles have no values.
    document.body.append(this.root);
    this.theme = readTheme(this.root);
    el.replaceChildren(this.root);
    this.ruler = canvasRuler(this.theme.font);
    this.ends.push(watchTheme(() => this.reread()));
    this.root.addEventListener("keydown", (event) => {
      event.stopPropagation();
      this.root.classList.add("wb-keyboard");
    });
    // A ring around the graph helps those who move by keys; after a click it would only be in the way.
    this.root.addEventListener("pointerdown", () => this.root.classList.remove("wb-keyboard"), { capture: true });
    this.ends.push(this.watchWidth());
  }

  onTheme(changed: (theme: Theme) => void): void {
    this.themed.add(changed);
  }

  atEnd(end: () => void): void {
    this.ends.push(end);
  }

  private reread(): void {
    this.theme = readTheme(this.root);
    for (const changed of this.themed) changed(this.theme);
  }

  /** Sets the width class that the style sheet's layouts hang on: the cell's width, not the window's, decides. */
  private watchWidth(): () => void {
    const observer = new ResizeObserver(() => {
      const width = this.root.clientWidth;
      this.root.dataset.width = width < 640 ? "narrow" : width < 1000 ? "medium" : width < 1400 ? "normal" : "wide";
    });
    observer.observe(this.root);
    return () => observer.disconnect();
  }

  say(words: string): void {
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  fullScreen(): void {
    if (document.fullscreenElement === this.root) void document.exitFullscreen();
    else void this.root.requestFullscreen?.();
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.themed.clear();
    this.root.remove();
  }
}
