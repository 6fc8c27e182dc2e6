/** What Python describes (workbench/widgets/blocks.py) as elements. All texts are text; a block that stays the same keeps its element. */
import { oneLine } from "../render/text.ts";
import { type Stage } from "../render/stage.ts";
import { button, h } from "./dom.ts";
import { type Action, type Block, type Entry, type Line, type Table } from "./messages.ts";
import { type Send } from "./model.ts";

interface Known { block: Block; key: string; element: HTMLElement }

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export class Blocks {
  private known: Known[] = [];
  private readonly rowKeys = new WeakMap<Element, string>();

  constructor(readonly element: HTMLElement, private readonly stage: Stage | null, private readonly send: Send) {
    element.classList.add("wb-blocks");
  }

  show(given: Block[] = []): void {
    const keys = given.map((block) => JSON.stringify(block));
    const left = [...this.known];
    const take = (fits: (was: Known) => boolean) => {
      const place = left.findIndex(fits);
      return place < 0 ? undefined : left.splice(place, 1)[0];
    };
    // What is as it was is found first, wherever it stood: a block more at the top renews nothing beneath it.
    const same = keys.map((key) => take((was) => was.key === key));
    this.known = given.map((block, i) => same[i] ?? this.renewed(block, keys[i]!, take(({ block: was }) => was.t === block.t && nameOf(was) === nameOf(block))));
    settle(this.element, this.known.map(({ element }) => element));
  }

  private renewed(block: Block, key: string, was: Known | undefined): Known {
    // A field that one is in keeps the focus, and a slider its drag; a row of a table that grows can be clicked on.
    if (was?.block.t === "in" && block.t === "in" && block.kind === was.block.kind && block.kind !== "select") return { block, key: update(was.element, block, key), element: was.element };
    return { block, key, element: block.t === "table" ? this.table(block, was?.element) : this.make(block) };
  }

  private make(block: Block): HTMLElement {
    const name = nameOf(block);
    const id: Record<string, string> = name ? { "data-testid": name } : {};
    switch (block.t) {
      case "h": return h("h4", {}, oneLine(block.text, 200));
      case "rows": return h("ul", { class: "wb-links wb-rows-list", ...id }, block.rows.map((row) => this.row(row)));
      case "act": return this.action(block);
      case "in": return this.field(block);
      case "code": return code(block.text, id);
      case "table": return this.table(block);
      // As an image, an SVG can neither run a script nor load anything.
      case "img": return h("div", id, block.svg.map((svg, dark) => h("img", { class: `wb-plot wb-on-${dark ? "dark" : "light"}`, alt: block.text, src: `data:image/svg+xml,${encodeURIComponent(svg)}` })));
      case "p": return h("p", { class: `wb-said-${block.look || "plain"}`, ...id }, oneLine(block.text, 2000));
    }
  }

  private table(block: Table, was?: HTMLElement): HTMLElement {
    const table = was ?? h("table", { class: "wb-facts-table", ...(block.name ? { "data-testid": block.name } : {}) });
    const left = new Map([...table.children].map((row) => [this.rowKeys.get(row), row]));
    const rows = block.rows.map((texts, i) => {
      const act = i ? block.act : block.sort;
      const marked = block.marked.includes(i - 1);
      const key = JSON.stringify([texts, i === 0, act, block.args[i - 1] ?? (act ? i : 0), marked]);
      const row = left.get(key) ?? this.line(block, texts, i, marked);
      left.delete(key);
      this.rowKeys.set(row, key);
      return row;
    });
    settle(table, rows);
    return table;
  }

  private line(block: Table, texts: string[], i: number, marked: boolean): HTMLElement {
    return h("tr", { class: marked ? "wb-current" : "" }, texts.map((text, j) => {
      const act = i ? !j && block.act : block.sort;
      const arg = i ? block.args[i - 1] ?? String(i - 1) : String(j);
      const words = oneLine(text, 2000);
      return h(i && j ? "td" : "th", { title: text }, act ? h("button", { type: "button", class: "wb-link", onclick: () => this.act(act, arg) }, words) : words);
    }));
  }

  private row(row: Line): HTMLElement {
    const choose = () => {
      if (row.nodes.length > 0) void this.stage?.reveal(row.nodes);
      if (row.act) this.act(row.act, row.arg);
    };
    const words = oneLine(row.text, 400);
    return h("li", {}, row.sign ? h("span", { class: `wb-sign wb-look-${row.look}` }, row.sign) : null,
      row.nodes.length > 0 || row.act ? h("button", { type: "button", class: "wb-link", onclick: choose }, words) : h("span", {}, words),
      row.drop ? button("×", "Take this edit away", () => this.act("drop", row.drop), { class: "wb-button wb-small" }) : null,
      row.small ? h("div", { class: "wb-said-small" }, oneLine(row.small, 600)) : null);
  }

  private act(what: string, arg = ""): void {
    this.send({ type: "act", what, arg });
  }

  private action(block: Action): HTMLElement {
    const text = block.field ? h("input", { class: "wb-input", value: block.field, "aria-label": "Name", disabled: Boolean(block.off), "data-testid": `${block.act}-name` }) : null;
    const press = button(block.label, block.off || block.title || block.label, () => this.act(block.act, text ? text.value : block.arg), {
      class: "wb-button wb-primary", disabled: Boolean(block.off), "data-testid": `act-${block.act}`,
    });
    // Why it can't be pressed is said, not only shown to a pointer that rests on it.
    return h("div", { class: "wb-action" }, press, text, block.off && block.label.length > 1 ? h("span", { class: "wb-said-small" }, oneLine(block.off, 600)) : null);
  }

  private field(block: Entry): HTMLElement {
    const tell = () => this.send({ type: "set", name: block.name, value: input.type === "checkbox" ? String((input as HTMLInputElement).checked) : input.value });
    const shared = { "data-testid": block.name, "aria-label": block.label || block.name };
    const input: Field = block.kind === "select"
      ? h("select", { class: "wb-select", ...shared, onchange: tell }, (block.options ?? []).map((o) => h("option", { value: Array.isArray(o) ? o[0] : o }, oneLine(Array.isArray(o) ? o[1] : String(o), 80))))
      : block.kind === "area" ? h("textarea", { class: "wb-input", rows: 5, spellcheck: "false", placeholder: block.hint, ...shared, onchange: tell, onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) tell(); } })
      : h("input", { class: "wb-input", type: block.kind === "check" ? "checkbox" : block.kind, min: block.min, max: block.max, placeholder: block.hint, ...shared, [block.kind === "range" ? "oninput" : "onchange"]: tell });
    const label = h("label", { class: `wb-label wb-field-${block.kind}` }, block.label, input, h("span", { class: "wb-dim" }));
    update(label, block, "");
    return label;
  }
}

/** Puts elements into their parent in this order. What stays where it is isn't touched: a click that began on it ends on it. */
function settle(parent: Element, elements: Element[]): void {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  elements.forEach((element, i) => {
    if (parent.children[i] !== element) parent.insertBefore(element, parent.children[i] ?? null);
  });
}

function nameOf(block: Block): string {
  return "name" in block ? block.name : "";
}

function update(label: HTMLElement, block: Entry, key: string): string {
  const input = label.querySelector<Field>("input, select, textarea")!;
  if (block.kind === "range") (input as HTMLInputElement).max = String(block.max);
  if (block.kind === "check") (input as HTMLInputElement).checked = block.value === true;
  else if (!input.matches(":active")) input.value = String(block.value);
  label.lastElementChild!.textContent = block.show ?? "";
  return key;
}

function code(text: string, id: Record<string, string>): HTMLElement {
  const press = button("Copy", "Copy the code", () => {
    const done = (words: string) => { press.textContent = words; };
    navigator.clipboard?.writeText(text).then(() => done("Copied"), () => done("Select it and copy"));
  });
  return h("div", { class: "wb-code-block" }, press, h("pre", { class: "wb-code", tabindex: "0", ...id }, text));
}
