/** The element around every widget: its style sheet, theme, width class and keyboard, and what ends with it. */
import { type Signal, signal } from "@preact/signals";
import { type ComponentChild } from "preact";
import { type Model, type Send } from "../model/model.ts";
import { Traits } from "../model/traits.ts";
import { canvasRuler, type Ruler } from "../render/text.ts";
import { readTheme, type Theme, variables, watchTheme } from "../render/theme.ts";
import css from "../style.css";
import { element } from "./element.ts";
import { mount } from "./mount.tsx";

export class Shell {
  readonly root: HTMLElement;
  /** Spoken by screen readers, and shown where there is room. */
  readonly status = element("div", { class: "wb-status", role: "status", "aria-live": "polite" });
  /** In pixels: panels start closed in a narrower widget. */
  readonly width = signal(0);
  readonly themes: Signal<Theme>;
  ruler: Ruler;
  /** The words of each piece of work, the newest last. */
  private readonly said = new Map<string, string>();
  private readonly themed = new Set<(theme: Theme) => void>();
  private readonly ends: (() => void)[] = [];

  constructor(
    el: HTMLElement,
    readonly kind: string,
  ) {
    // The attribute keeps JupyterLab's shortcuts out; they listen before any handler here could stop them. See mount.tsx too.
    const style = element("style", {}, variables() + css);
    this.root = element("div", { class: `wb wb-${kind}`, "data-lm-suppress-shortcuts": "true" }, style);
    // JupyterLab hands out an element that is not in the page yet, and there styles have no values.
    document.body.append(this.root);
    this.themes = signal(readTheme(this.root));
    el.replaceChildren(this.root);
    this.ruler = canvasRuler(this.theme.font);
    this.ends.push(watchTheme(() => this.reread()));
    this.root.addEventListener("keydown", (event) => {
      event.stopPropagation();
      byKeys();
    });
    // A ring around the graph helps those who move by keys; after a click it would only be in the way.
    const byKeys = () => this.root.classList.remove("wb-pointer");
    this.root.addEventListener("pointerdown", () => this.root.classList.add("wb-pointer"), { capture: true });
    this.root.addEventListener("focusout", ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && this.root.contains(relatedTarget))) byKeys();
    });
    this.ends.push(this.watchWidth());
  }

  /** Draw components in this element, until the widget ends. */
  render(children: ComponentChild): void {
    const page = element("div", { style: "display: contents" });
    this.root.append(page);
    this.ends.push(mount(children, page));
  }

  get theme(): Theme {
    return this.themes.value;
  }

  /** Whether the widget is at least this wide; true until its width is known. */
  hasRoom(px: number): boolean {
    const width = this.width.value;
    return width === 0 || width >= px;
  }

  onTheme(changed: (theme: Theme) => void): void {
    this.themed.add(changed);
  }

  atEnd(end: () => void): void {
    this.ends.push(end);
  }

  private reread(): void {
    this.themes.value = readTheme(this.root);
    for (const changed of this.themed) changed(this.theme);
  }

  /** Sets the width class for the style sheet's layouts, from the width of the cell and not of the window. */
  private watchWidth(): () => void {
    const observer = new ResizeObserver(() => {
      const width = this.root.clientWidth;
      this.width.value = width;
      this.root.dataset.width = width < 640 ? "narrow" : width < 1000 ? "medium" : width < 1400 ? "normal" : "wide";
    });
    observer.observe(this.root);
    return () => observer.disconnect();
  }

  /** Show the words of a piece of work; "" ends it, and the newest of the others are shown again. Words of none stay until the next. */
  say(words: string, work = ""): void {
    this.said.delete("");
    this.said.delete(work);
    if (words) this.said.set(work, words);
    const newest = [...this.said.values()].at(-1) ?? "";
    if (this.status.textContent !== newest) this.status.textContent = newest;
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

interface Opened {
  shell: Shell;
  traits: Traits;
  saved: boolean;
  /** None in a saved page. */
  send: Send | undefined;
}

/** The start of every widget, which ends with its shell. */
export function open(model: Model, el: HTMLElement, kind: string): Opened {
  const shell = new Shell(el, kind);
  const traits = new Traits(model);
  shell.atEnd(() => traits.dispose());
  const saved = traits.get("saved").peek() === true;
  return { shell, traits, saved, send: saved ? undefined : (message) => model.send(message) };
}
