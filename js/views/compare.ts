/** Before and after beside each other (or over each other) on one stage; the part that two views share. */
import { type Diff } from "../graph/picture.ts";
import { column } from "../graph/payload.ts";
import { type Stage } from "../render/stage.ts";
import { type Overlay } from "../render/overlay.ts";
import { Brief } from "./brief.ts";
import { toSvg, type Sheet } from "../render/save.ts";
import { download } from "./download.ts";
import { Chips } from "./chips.ts";
import { button, h, replace, setText } from "./dom.ts";
import { icon } from "./icons.ts";
import { keysCard } from "./keys.ts";
import { Pane } from "./pane.ts";
import { SearchBox } from "./search_box.ts";
import { Legend } from "./legend.ts";
import { Scale } from "./scale.ts";
import { type Shell } from "./shell.ts";

export type Mode = "split" | "changed" | "overlay";
const MODES: [Mode, string, string][] = [
  ["split", "Split", "Before and after, side by side"],
  ["changed", "Changed only", "Only what changed, with its neighbours (c)"],
  ["overlay", "Overlay", "Both in one picture"],
];

export class Compare {
  readonly bar: HTMLElement;
  readonly element: HTMLElement;
  /** The panes: beside each other, or one over the other where the data flows to the right. */
  private readonly sides = h("div", { class: "wb-sides" });
  readonly search: SearchBox;
  readonly chips: Chips;
  readonly legend: Legend;
  mode: Mode = "split";
  onmode: (mode: Mode, hops: number) => void = () => undefined;
  onkey: (event: KeyboardEvent) => boolean = () => false;
  private panes: Pane[] = [];
  private readonly titles = [h("span", { class: "wb-pane-title" }), h("span", { class: "wb-pane-title" })];
  /** Beside each title: kernels and nodes of that side. */
  readonly facts = [h("span", { class: "wb-facts" }), h("span", { class: "wb-facts" })];
  private readonly modes: HTMLButtonElement[];
  private readonly hops: HTMLElement;
  private readonly steps: HTMLSelectElement;
  private readonly brief: Brief;
  private readonly scale = new Scale();
  private readonly empty = h("div", { class: "wb-nothing" }, "No graph yet.");

  constructor(private readonly shell: Shell, readonly stage: Stage) {
    this.search = new SearchBox(stage);
    this.search.onleave = () => this.focus();
    this.chips = new Chips(stage);
    this.brief = new Brief(stage);
    this.modes = MODES.map(([mode, face, label]) => button(face, label, () => this.setMode(mode), {
      class: "wb-segment", "aria-pressed": String(mode === "split"), "data-testid": `mode-${mode}`, "aria-label": face,
    }));
    this.legend = new Legend(stage, shell.theme);
    this.steps = h("select", { class: "wb-select", "data-testid": "hops", "aria-label": "Steps around a change", onchange: () => this.setMode("changed", Number(this.steps.value)) },
      [0, 1, 2, 3, 5].map((n) => h("option", { value: n, selected: n === 1 }, String(n))));
    this.hops = h("label", { class: "wb-hops", hidden: true, title: "How many steps around a change are shown" }, "±", this.steps);
    this.bar = h("div", { class: "wb-bar", role: "toolbar", "aria-label": "Graph" },
      this.legend.toggle, h("div", { class: "wb-segments", role: "group", "aria-label": "View" }, this.modes), this.hops, this.chips.element, this.scale.element,
      h("span", { class: "wb-space" }), this.search.element, zoomButtons(stage, shell, () => this.help(), () => this.svg()));
    this.element = h("div", { class: "wb-panes" }, this.legend.element, this.sides, this.empty, this.brief.element);
    this.arrange();
    // To show a node that "changed only" leaves out, the stage leaves that mode.
    stage.events.on("changedOnly", (on) => { if (!on && this.mode === "changed") this.setMode("split"); });
    stage.events.on("scene", (scene) => {
      this.scale.show(stage.look.overlay);
      this.empty.hidden = stage.picture.nodeCount > 0;
      this.sides.classList.toggle("wb-turned", scene.turned === true);
    });
    shell.onTheme((theme) => this.panes.forEach((pane) => pane.setTheme(theme)));
  }

  setTitles(titles: readonly string[]): void {
    this.titles.forEach((element, i) => setText(element, titles[i] || ["before", "after"][i]));
  }

  setMode(mode: Mode, hops = this.stage.hops): void {
    if (mode === this.mode && hops === this.stage.hops) return;
    const was = this.mode;
    this.mode = mode;
    this.modes.forEach((element, i) => element.setAttribute("aria-pressed", String(MODES[i][0] === mode)));
    this.hops.hidden = mode !== "changed";
    if ((mode === "overlay") !== (was === "overlay")) this.arrange();
    this.stage.setApart(mode === "overlay");
    if (![...this.steps.options].some((option) => option.value === String(hops))) this.steps.append(h("option", { value: hops }, String(hops)));
    this.steps.value = String(hops);
    this.stage.setChangedOnly(mode === "changed", hops);
    this.onmode(mode, hops);
  }

  private arrange(): void {
    for (const pane of this.panes) pane.dispose();
    const overlay = this.mode === "overlay";
    const specs = overlay ? [[3, "both", "canvas-overlay"] as const] : [[1, "before", "canvas-before"] as const, [2, "after", "canvas-after"] as const];
    this.panes = specs.map(([sides, name, testid], i) => new Pane(this.stage, this.shell.theme, { sides, name, testid, minimap: i === specs.length - 1 }));
    for (const pane of this.panes) pane.onkey = (event) => this.key(event);
    const heads = overlay
      ? [h("div", { class: "wb-pane-head" }, this.titles[0], this.facts[0], h("span", { class: "wb-arrow" }, "→"), this.titles[1], this.facts[1])]
      : [0, 1].map((i) => h("div", { class: "wb-pane-head" }, this.titles[i], this.facts[i]));
    replace(this.sides, this.panes.map((pane, i) => h("div", { class: "wb-side" }, heads[i], pane.element)));
  }

  setOverlay(overlay: Overlay | null): void {
    this.stage.setOverlay(overlay);
    this.scale.show(this.stage.look.overlay);
  }

  private key(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "/": this.search.focus(); return true;
      case "c": this.setMode(this.mode === "changed" ? "split" : "changed"); return true;
      case "n": this.chips.nextOfAny(); return true;
      case "?": this.help(); return true;
      case "l": this.legend.toggle.click(); return true;
      case "Escape": this.search.clear(); return true;
      default: return this.onkey(event);
    }
  }

  focus(): void {
    this.panes[0]?.canvas.focus({ preventScroll: true });
  }

  help(): void {
    const card = keysCard(() => this.focus());
    this.element.append(card);
    card.focus();
  }

  /** The whole picture as it would be at 100 %, both sides. */
  svg(): string | null {
    const sheets = this.panes.map((pane, i) => ({ frame: pane.frame(), title: this.panes.length > 1 ? this.titles[i].textContent ?? "" : "" }));
    return sheets.every((sheet) => sheet.frame) ? toSvg(sheets as Sheet[]) : null;
  }

  dispose(): void {
    for (const pane of this.panes) pane.dispose();
  }
}

export function zoomButtons(stage: Stage, shell: Shell, help: () => void, svg: () => string | null): HTMLElement {
  return h("div", { class: "wb-group" },
    button("−", "Zoom out (-)", () => stage.zoom(0.8)),
    button("+", "Zoom in (+)", () => stage.zoom(1.25)),
    button("Fit", "Fit the whole graph (f)", () => stage.fit(), { "data-testid": "fit" }),
    button(icon("save"), "Save the picture as SVG (Shift + click: as PNG)", () => undefined, {
      "data-testid": "save", onclick: (event: MouseEvent) => download(svg(), "graph", event.shiftKey ? "png" : "svg"),
    }),
    button(icon("full"), "Full screen", () => shell.fullScreen()),
    button("?", "The list of keys (?)", help));
}

export function readDiff(raw: Record<string, unknown>): Diff {
  const bytes = (name: string) => raw?.[name] as never;
  return {
    before_mark: column(Uint8Array, bytes("before_mark")),
    after_mark: column(Uint8Array, bytes("after_mark")),
    pairs: column(Uint32Array, bytes("pairs")),
  };
}
