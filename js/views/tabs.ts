/** Tabs beneath the graph; a click on the open one closes it, so that the graph gets the room. */
import { h } from "./dom.ts";

export interface Tab {
  name: string;
  title: string;
  element: HTMLElement;
}

export class Tabs {
  readonly element: HTMLElement;
  private readonly buttons: HTMLButtonElement[];
  private open = 0;

  /** Told the name of the tab that was opened; "" when the open one was closed. */
  onpick: (name: string) => void = () => undefined;

  constructor(private readonly tabs: Tab[], first = 0) {
    this.buttons = tabs.map((tab, i) => h("button", {
      type: "button", class: "wb-tab", role: "tab", "data-testid": `tab-${tab.name}`, onclick: () => this.pick(i === this.open ? -1 : i),
      onkeydown: (event: KeyboardEvent) => this.key(event, i),
    }, tab.title));
    this.element = h("section", { class: "wb-tabs" }, h("div", { class: "wb-tab-bar", role: "tablist" }, this.buttons),
      h("div", { class: "wb-tab-body" }, tabs.map((tab) => h("div", { role: "tabpanel" }, tab.element))));
    this.pick(first);
  }

  get current(): string {
    return this.tabs[this.open]?.name ?? "";
  }

  /** Opens a tab, or closes it if it is open. */
  toggle(name: string): void {
    const i = this.tabs.findIndex((tab) => tab.name === name);
    this.pick(i === this.open ? -1 : i);
  }

  private key(event: KeyboardEvent, i: number): void {
    const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (way === 0) return;
    const next = (i + way + this.tabs.length) % this.tabs.length;
    this.pick(next);
    this.buttons[next].focus();
  }

  private pick(i: number): void {
    this.open = i;
    this.element.classList.toggle("wb-closed", i < 0);
    this.buttons.forEach((element, at) => element.setAttribute("aria-selected", String(at === i)));
    this.tabs.forEach((tab, at) => { tab.element.parentElement!.hidden = at !== i; });
    this.onpick(this.current);
  }
}
