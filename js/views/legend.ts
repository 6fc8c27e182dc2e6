/**
 * The legend, which is also where one chooses what is shown: each row has a switch that makes its nodes faint, and
 * "only" that makes all others faint. It changes traits, and shows what they are; it keeps nothing itself.
 */
import { markCounts, opTypes, type Tally } from "../graph/muted.ts";
import { MARKS, type Picture } from "../graph/picture.ts";
import { dtypeColor, edgeDtype } from "../render/dtypes.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { type Theme } from "../render/theme.ts";
import { button, h, replace } from "./dom.ts";
import { sign } from "./icons.ts";
import { type Model } from "./model.ts";

/** A longer list is not read; the rarest are left out. */
const MOST_ROWS = 200;
const SWITCHES: [string, string, string][] = [
  ["show_constants", "Constants as nodes", "Constants and weights as nodes of their own, not as badges"],
  ["show_tuples", "Tuples as nodes", "Tuples and what takes them apart as nodes, not as marks on edges"],
  ["edges_by_dtype", "Edges by data type", "Colour edges by data type (t)"],
];

interface Row extends Tally {
  face: string;
  sign?: Node | string;
  look?: string;
}

export class Legend {
  readonly element = h("aside", { class: "wb-legend", "aria-label": "Legend", "data-testid": "legend", hidden: true });
  readonly toggle: HTMLButtonElement;
  /** Sets a trait; what that changes comes back through `show`. */
  change: (name: string, value: unknown) => void = () => undefined;
  private counted: Picture | null = null;
  private sections: [string, Row[]][] = [];
  private state = "";

  constructor(private readonly stage: Stage, private theme: Theme) {
    this.toggle = button("Legend", "Op types, marks and what is shown (l)", () => this.change("legend", this.element.hidden), { "data-testid": "legend-toggle", "aria-expanded": "false" });
  }

  setTheme(theme: Theme, model: Model): void {
    this.theme = theme;
    this.state = "";
    this.show(model);
  }

  show(model: Model): void {
    const open = model.get("legend") === true;
    this.element.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (!open) return;
    const { picture } = this.stage;
    const muted = (model.get("muted") as string[] | undefined) ?? [];
    const state = JSON.stringify([muted, model.get("direction"), ...SWITCHES.map(([name]) => model.get(name))]);
    if (state === this.state && picture === this.counted) return;
    this.state = state;
    if (picture !== this.counted) this.sections = sections(picture);
    this.counted = picture;
    const focused = (this.element.getRootNode() as Document | ShadowRoot).activeElement?.getAttribute("data-testid");
    const { scrollTop } = this.element;
    replace(this.element, this.switches(model), ...this.sections.map(([title, rows]) => this.section(title, rows, muted)));
    this.element.scrollTop = scrollTop;
    // The row that was pressed is a new element now; who works by keys stays where they are.
    if (focused) [...this.element.querySelectorAll<HTMLElement>("[data-testid]")].find((e) => e.dataset.testid === focused)?.focus();
  }

  private switches(model: Model): HTMLElement {
    const down = model.get("direction") !== "right";
    const flow = (value: string, face: string, pressed: boolean) => button(face, `The data flows ${value}`, () => this.change("direction", value), {
      class: "wb-segment", "aria-pressed": String(pressed), "data-testid": `direction-${value}`,
    });
    const rows = SWITCHES.map(([name, face, title]) => h("label", { class: "wb-legend-row", title },
      h("input", { type: "checkbox", checked: model.get(name) === true, "data-testid": name, onchange: (event: Event) => this.change(name, (event.target as HTMLInputElement).checked) }), face));
    const colours = model.get("edges_by_dtype") === true ? this.dtypes() : [];
    return h("section", {}, h("div", { class: "wb-legend-head" }, h("span", { class: "wb-strong" }, "Flow"),
      h("div", { class: "wb-segments", role: "group", "aria-label": "Flow" }, flow("down", "↓ Down", down), flow("right", "→ Right", !down))), rows, colours);
  }

  private dtypes(): HTMLElement[] {
    const found = [...new Set(this.stage.picture.edgeType)].map(edgeDtype).filter(Boolean);
    return [...new Set(found)].sort().map((name) => h("div", { class: "wb-legend-row wb-legend-dtype" },
      h("span", { class: "wb-legend-line", style: `background: ${dtypeColor(name, this.theme)}` }), oneLine(name, 24)));
  }

  private section(title: string, rows: Row[], muted: readonly string[]): HTMLElement {
    const names = rows.map((row) => row.name);
    const rest = muted.filter((name) => !names.includes(name));
    const some = rest.length < muted.length;
    const all = button("all", `Show all of: ${title}`, () => this.change("muted", rest), { class: "wb-button wb-small", hidden: !some, "data-testid": `all-${title}` });
    const list = rows.slice(0, MOST_ROWS).map((row) => this.row(row, muted, names, rest));
    const more = rows.length > MOST_ROWS ? h("div", { class: "wb-dim" }, `and ${rows.length - MOST_ROWS} more`) : null;
    return h("section", {}, h("div", { class: "wb-legend-head" }, h("span", { class: "wb-strong" }, title), all), list, more);
  }

  private row(row: Row, muted: readonly string[], names: readonly string[], rest: readonly string[]): HTMLElement {
    const shown = !muted.includes(row.name);
    const face = oneLine(row.face, 80) || "(no name)";
    const id = oneLine(row.name, 80);
    const box = h("input", {
      type: "checkbox", checked: shown, "data-testid": `shown-${id}`, "aria-label": `${face}, ${row.count}`,
      onchange: () => this.change("muted", shown ? [...muted, row.name] : muted.filter((name) => name !== row.name)),
    });
    const only = button("only", `Only ${face}`, () => this.change("muted", [...rest, ...names.filter((name) => name !== row.name)]), { class: "wb-button wb-small wb-only", "data-testid": `only-${id}` });
    return h("div", { class: `wb-legend-row ${row.look ?? ""}${shown ? "" : " wb-muted"}` },
      h("label", { title: face }, box, row.sign ? h("span", { class: "wb-sign", "aria-hidden": "true" }, row.sign) : null, h("span", { class: "wb-cut" }, face)),
      only, h("span", { class: "wb-number" }, row.count.toLocaleString("en")));
  }
}

function sections(picture: Picture): [string, Row[]][] {
  const { ops, kinds } = opTypes(picture);
  const counts = picture.compares ? markCounts(picture) : [];
  const marks = counts.map((count, mark): Row => ({ name: `mark:${MARKS[mark]}`, face: MARKS[mark], count, sign: sign(mark), look: `wb-mark-${MARKS[mark]}` }));
  const plain = (rows: Tally[]): Row[] => rows.map((row) => ({ ...row, face: row.name }));
  const all: [string, Row[]][] = [["Changes", marks.filter((row) => row.count > 0)], ["Operators", plain(ops)], ["Other nodes", plain(kinds)]];
  return all.filter(([, rows]) => rows.length > 0);
}
