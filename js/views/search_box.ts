/** The search box: finds as one types, Enter goes to the next, Escape gives the keys back to the graph. */
import { FIELDS, search } from "../graph/search.ts";
import { type Stage } from "../render/stage.ts";
import { h, setText } from "./dom.ts";

const EXAMPLES = `Substrings of op, name, type and attributes, all of which must match. Fields: ${FIELDS.map((f) => `${f}:`).join(" ")}
Examples:  op:conv2d dtype:int8   shape:64x64   -op:cast   "bias add"
All of it: ? in the graph.`;

export class SearchBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly count = h("span", { class: "wb-count", "aria-live": "polite", "data-testid": "found" });
  private found: number[] = [];
  private at = -1;
  /** Where the focus goes on Escape. */
  onleave: () => void = () => undefined;

  constructor(private readonly stage: Stage) {
    this.input = h("input", {
      class: "wb-input", type: "search", placeholder: "Search  op:conv2d", "aria-label": "Search the graph", title: EXAMPLES,
      "data-testid": "search", spellcheck: "false", oninput: () => this.run(), onkeydown: (event: KeyboardEvent) => this.key(event),
    });
    this.element = h("div", { class: "wb-search" }, this.input, this.count);
    stage.events.on("scene", () => { if (this.input.value) this.run(); });
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private run(): void {
    const query = this.input.value.trim();
    if (query === "") return this.clear();
    this.found = search(this.stage.picture, query);
    this.at = -1;
    this.stage.setFound(this.found);
    this.tell();
  }

  clear(): void {
    this.input.value = "";
    this.found = [];
    this.stage.setFound(null);
    setText(this.count, "");
  }

  private tell(): void {
    const n = this.found.length;
    setText(this.count, n === 0 ? "none" : this.at < 0 ? `${n}` : `${this.at + 1} / ${n}`);
  }

  private key(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key === "Escape") {
      this.clear();
      this.onleave();
    } else if (event.key === "Enter" && this.found.length > 0) {
      const n = this.found.length;
      this.at = (this.at + (event.shiftKey ? -1 : 1) + n) % n;
      this.tell();
      void this.stage.reveal([this.found[this.at]], false);
    } else return;
    event.preventDefault();
  }
}
