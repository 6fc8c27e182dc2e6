/**
 * The printed module before and after, side by side: words that differ marked, equal parts folded. A click on a line
 * selects what it binds in the picture, and what is selected there is marked here.
 */
import { compareTexts, folds, type Folded, type TextRow } from "../text/compare.ts";
import { type Piece } from "../text/words.ts";
import { Kind } from "../graph/payload.ts";
import { type Picture } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";
import { button, h, replace, setText } from "./dom.ts";

/** A module as printed, and for each node of its graph the line that binds it, from 1 (0: unknown). */
export interface PrintedModule {
  text: string;
  lines: Uint32Array;
}

/** Rows put into the page at a time; the next ones come when the end of these is near. */
const CHUNK = 150;
const SIGN = { same: "", changed: "~", removed: "−", added: "+", moved: "↕" } as const;

export class TextDiff {
  readonly element: HTMLElement;
  private readonly body = h("div", { class: "wb-text", tabindex: "0", role: "table", "aria-label": "Text before and after", "data-testid": "text-diff" });
  private readonly words = h("span", { class: "wb-dim" });
  private readonly input: HTMLInputElement;
  private readonly count = h("span", { class: "wb-count", "aria-live": "polite" });
  private readonly end = h("div", { class: "wb-text-end" });
  private readonly watcher: IntersectionObserver;
  private printed: [PrintedModule, PrintedModule] | null = null;
  private lines: [string[], string[]] = [[], []];
  /** For each side, the picture's nodes that a line binds; lines from 0. */
  private nodesOf: [Map<number, number[]>, Map<number, number[]>] = [new Map(), new Map()];
  private rows: TextRow[] = [];
  private folded: Folded[] = [];
  private readonly elements = new Map<number, HTMLElement>();
  private next = 0;
  private found: number[] = [];
  private at = -1;

  constructor(private readonly stage: Stage) {
    this.input = h("input", {
      class: "wb-input", type: "search", placeholder: "Search the text", "aria-label": "Search the text", "data-testid": "text-search", spellcheck: "false",
      oninput: () => this.search(), onkeydown: (event: KeyboardEvent) => this.key(event),
    });
    this.element = h("div", { class: "wb-text-tab" },
      h("div", { class: "wb-text-tools" }, this.words, h("span", { class: "wb-space" }),
        button("Next change", "Scroll to the next line that differs", () => this.nextChange(), { "data-testid": "text-next" }),
        button("Open all", "Show the equal parts too", () => { this.folded = []; this.draw(); }, { "data-testid": "text-unfold" }),
        h("div", { class: "wb-search" }, this.input, this.count)), this.body);
    this.watcher = new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) this.more(); }, { root: this.body, rootMargin: "600px" });
    stage.events.on("select", () => this.mark(true));
    this.say("The text of this step comes when this tab is open.");
  }

  say(what: string): void {
    this.printed = null;
    this.rows = [];
    setText(this.words, "");
    replace(this.body, h("div", { class: "wb-empty" }, what));
  }

  /** Shows two modules; the picture is the one of their graphs. */
  show(before: PrintedModule, after: PrintedModule, picture: Picture): void {
    if (this.printed?.[0] === before && this.printed[1] === after) return;
    this.printed = [before, after];
    this.lines = [before.text.split("\n"), after.text.split("\n")];
    this.nodesOf = [linesOf(before, picture, 0), linesOf(after, picture, 1)];
    const binds = (side: 0 | 1, u: number) => !INLINE.includes(picture.sides[side].kind[picture.id[side][u]]);
    const stays = (side: 0 | 1, line: number) => (this.nodesOf[side].get(line) ?? []).some((u) => picture.id[1 - side][u] >= 0 && binds(side, u));
    this.rows = compareTexts(this.lines[0], this.lines[1], anchors(before, after, picture), stays);
    this.folded = folds(this.rows);
    this.tell();
    this.draw();
    if (this.input.value) this.search();
  }

  private tell(): void {
    const count = (kind: string) => this.rows.filter((row) => row.kind === kind).length;
    const parts = (["changed", "removed", "added", "moved"] as const).map((kind) => [kind, count(kind)] as const).filter(([, n]) => n > 0);
    replace(this.words, parts.length === 0 ? "The text is the same, but for the numbering of values." : parts.map(([kind, n]) => h("span", { class: `wb-text-count wb-mark-${kind}` }, `${SIGN[kind]}${n} ${kind}`)), this.rows.length > 0 ? ` of ${this.rows.length.toLocaleString("en")} lines` : "");
  }

  // ---- rows ----------------------------------------------------------------------------------------------------

  private draw(): void {
    this.watcher.disconnect();
    this.elements.clear();
    this.next = 0;
    this.body.scrollTop = 0;
    replace(this.body, this.end);
    this.more();
    this.watcher.observe(this.end);
    this.mark(false);
  }

  /** Puts the next rows into the page, at least up to `until`. */
  private more(until = -1): void {
    const made: HTMLElement[] = [];
    while (this.next < this.rows.length && (made.length < CHUNK || this.next <= until)) {
      const fold = this.folded.find(({ from }) => from === this.next);
      made.push(fold ? this.foldRow(fold) : this.row(this.next));
      this.next = fold ? fold.to : this.next + 1;
    }
    if (made.length === 0) return;
    this.end.before(...made);
    // Whether the end is still in sight is only told anew when it is watched anew.
    this.watcher.unobserve(this.end);
    if (this.next < this.rows.length) this.watcher.observe(this.end);
    this.highlight();
  }

  private row(r: number): HTMLElement {
    const row = this.rows[r];
    const cell = (side: 0 | 1) => {
      const line = side === 0 ? row.before : row.after;
      const text = line < 0 ? null : this.lines[side][line];
      const binds = this.nodesOf[side].has(line);
      return [
        h("span", { class: "wb-text-number", "aria-hidden": "true" }, line < 0 ? "" : line + 1),
        h("code", { class: `wb-text-line${text === null ? " wb-text-none" : ""}${binds ? " wb-text-binds" : ""}`, ...(text === null ? {} : { "data-line": `${side} ${line}` }) }, text === null ? "" : spans(row.words?.[side] ?? [{ text, differs: false }])),
      ];
    };
    const element = h("div", { class: `wb-text-row wb-text-${row.kind}`, role: "row", onclick: (event: MouseEvent) => this.click(event, r) },
      cell(0), h("span", { class: "wb-text-sign", "aria-label": row.kind }, SIGN[row.kind]), cell(1));
    this.elements.set(r, element);
    return element;
  }

  private foldRow(fold: Folded): HTMLElement {
    const n = fold.to - fold.from;
    const element = h("button", { type: "button", class: "wb-text-fold", "data-testid": "text-fold", onclick: () => this.open(fold) }, `⋯ ${n.toLocaleString("en")} equal lines`);
    this.elements.set(fold.from, element);
    return element;
  }

  private open(fold: Folded): void {
    const place = this.elements.get(fold.from);
    this.folded = this.folded.filter((other) => other !== fold);
    if (!place || this.next <= fold.from) return;
    const rows: HTMLElement[] = [];
    for (let r = fold.from; r < fold.to; r++) rows.push(this.row(r));
    place.replaceWith(...rows);
    this.mark(false);
    this.highlight();
  }

  private shown(r: number): HTMLElement | undefined {
    const fold = this.folded.find(({ from, to }) => from <= r && r < to);
    if (fold && this.next > fold.from) this.open(fold);
    else if (fold) this.folded = this.folded.filter((other) => other !== fold);
    if (this.next <= r) this.more(r);
    return this.elements.get(r);
  }

  private scrollTo(r: number): void {
    const element = this.shown(r);
    if (!element) return;
    // Rows out of sight have no height yet, only a guess: what comes into sight moves the row, so look again.
    const go = () => { this.body.scrollTop = element.offsetTop - this.body.clientHeight / 3; };
    go();
    requestAnimationFrame(() => {
      go();
      requestAnimationFrame(go);
    });
  }

  private nextChange(): void {
    const top = this.body.scrollTop + this.body.clientHeight / 3 + 4;
    const seen = (r: number) => { const element = this.elements.get(r); return element ? element.offsetTop : Infinity; };
    const starts = this.rows.flatMap((row, r) => (row.kind !== "same" && (r === 0 || this.rows[r - 1].kind === "same") ? [r] : []));
    const next = starts.find((r) => seen(r) > top) ?? starts[0];
    if (next !== undefined) this.scrollTo(next);
  }

  // ---- the picture ---------------------------------------------------------------------------------------------

  private click(event: MouseEvent, r: number): void {
    // Selecting words to copy them is not about the picture.
    if (String(getSelection() ?? "") !== "") return;
    const told = (event.target as HTMLElement).closest<HTMLElement>("[data-line]")?.dataset.line?.split(" ").map(Number);
    const row = this.rows[r];
    const [side, line] = told ?? (row.after >= 0 ? [1, row.after] : [0, row.before]);
    const nodes = this.nodesOf[side as 0 | 1].get(line);
    if (!nodes) return;
    this.still = true;
    void this.stage.reveal(nodes, false).finally(() => { this.still = false; });
  }

  /** Whether the selection comes from here, so that the text stays where it is. */
  private still = false;
  private marked: HTMLElement[] = [];

  private mark(scroll: boolean): void {
    for (const element of this.marked) element.classList.remove("wb-current");
    this.marked = [];
    if (!this.printed) return;
    const chosen = new Set(this.stage.selection);
    const here = this.rows.flatMap((row, r) => ([0, 1] as const).some((side) => (this.nodesOf[side].get(side === 0 ? row.before : row.after) ?? []).some((u) => chosen.has(u))) ? [r] : []);
    if (scroll && here.length > 0 && !this.still && this.body.clientHeight > 0) this.scrollTo(here[0]);
    this.marked = here.map((r) => this.elements.get(r)).filter((element): element is HTMLElement => element !== undefined);
    for (const element of this.marked) element.classList.add("wb-current");
  }

  // ---- search --------------------------------------------------------------------------------------------------

  focusSearch(): void {
    this.input.focus();
  }

  private search(): void {
    const wanted = this.input.value.toLowerCase();
    const holds = (side: 0 | 1, line: number) => line >= 0 && this.lines[side][line].toLowerCase().includes(wanted);
    this.found = wanted === "" ? [] : this.rows.flatMap((row, r) => (holds(0, row.before) || holds(1, row.after) ? [r] : []));
    this.at = -1;
    if (this.found.length > 0) this.go(0);
    else this.highlight();
    this.tellFound();
  }

  private tellFound(): void {
    const n = this.found.length;
    setText(this.count, this.input.value === "" ? "" : n === 0 ? "none" : `${this.at + 1} / ${n}`);
  }

  private go(to: number): void {
    this.at = (to + this.found.length) % this.found.length;
    this.scrollTo(this.found[this.at]);
    this.tellFound();
    this.highlight();
  }

  private key(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key === "Enter" && this.found.length > 0) this.go(this.at + (event.shiftKey ? -1 : 1));
    else if (event.key === "Escape") {
      this.input.value = "";
      this.search();
      this.body.focus();
    } else return;
    event.preventDefault();
  }

  /** Marks what was found without touching the rows: the browser paints ranges where it can. */
  private highlight(): void {
    for (const element of this.body.querySelectorAll(".wb-text-found")) element.classList.remove("wb-text-found");
    const ranges: Range[] = [];
    const wanted = this.input.value.toLowerCase();
    for (const r of this.found) {
      const element = this.elements.get(r);
      if (!element) continue;
      element.classList.toggle("wb-text-found", r === this.found[this.at]);
      for (const line of element.querySelectorAll("code")) ranges.push(...occurrences(line, wanted));
    }
    if (typeof Highlight === "function") CSS.highlights.set("wb-found", new Highlight(...ranges));
  }

  dispose(): void {
    this.watcher.disconnect();
    if (this.found.length > 0 && typeof Highlight === "function") CSS.highlights.delete("wb-found");
  }
}

function linesOf(printed: PrintedModule, picture: Picture, side: 0 | 1): Map<number, number[]> {
  const found = new Map<number, number[]>();
  printed.lines.forEach((line, v) => {
    const u = picture.node[side][v] ?? -1;
    if (line === 0 || u < 0) return;
    const list = found.get(line - 1);
    if (list) list.push(u);
    else found.set(line - 1, [u]);
  });
  return found;
}

/** What stands inside of the lines of those that use it: such a line says nothing of where the node is bound. */
const INLINE: readonly number[] = [Kind.param, Kind.constant, Kind.global];

/** Lines that bind the same node on both sides, and those of nodes that became each other; operators before tuples, which share lines. */
function anchors(before: PrintedModule, after: PrintedModule, picture: Picture): [number, number][] {
  const [first, rest]: [number, number][][] = [[], []];
  const add = (v: number, w: number) => {
    if (v < 0 || w < 0 || !before.lines[v] || !after.lines[w]) return;
    const kind = picture.sides[0].kind[v];
    if (INLINE.includes(kind)) return;
    (kind === Kind.op || kind === Kind.call ? first : rest).push([before.lines[v] - 1, after.lines[w] - 1]);
  };
  for (let u = 0; u < picture.nodeCount; u++) add(picture.id[0][u], picture.id[1][u]);
  for (const [u, others] of picture.partners) for (const w of others) add(picture.id[0][u], picture.id[1][w]);
  return [...first, ...rest];
}

/** A line as text, words that differ marked, and the printer's remarks (types, spans) dim. */
function spans(pieces: readonly Piece[]): Node[] {
  const out: Node[] = [];
  let remark = false;
  for (const { text, differs } of pieces) {
    for (const part of text.split(/(?=\/\*)|(?<=\*\/)/)) {
      remark ||= part.startsWith("/*");
      const name = [differs ? "wb-text-differs" : "", remark ? "wb-dim" : ""].filter(Boolean).join(" ");
      out.push(name === "" ? document.createTextNode(part) : h("span", { class: name }, part));
      if (part.endsWith("*/")) remark = false;
    }
  }
  return out;
}

function occurrences(element: Element, wanted: string): Range[] {
  if (wanted === "") return [];
  const nodes: Text[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) nodes.push(walker.currentNode as Text);
  const whole = nodes.map((node) => node.data).join("").toLowerCase();
  const ranges: Range[] = [];
  const place = (offset: number): [Text, number] => {
    let left = offset;
    for (const node of nodes) {
      if (left <= node.length) return [node, left];
      left -= node.length;
    }
    return [nodes[nodes.length - 1], nodes[nodes.length - 1].length];
  };
  for (let at = whole.indexOf(wanted); at >= 0 && ranges.length < 200; at = whole.indexOf(wanted, at + wanted.length)) {
    const range = document.createRange();
    range.setStart(...place(at));
    range.setEnd(...place(at + wanted.length));
    ranges.push(range);
  }
  return ranges;
}
