/** A counter of each kind of change; a click goes to the next one. */
import { MARKS, type Picture } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";
import { h, replace } from "./dom.ts";
import { sign } from "./icons.ts";

const ORDER = [3, 2, 1, 4, 5];

export class Chips {
  readonly element = h("div", { class: "wb-chips", role: "group", "aria-label": "Changes" });
  private nodes: number[][] = [];
  private at: number[] = [];

  constructor(private readonly stage: Stage) {
    stage.events.on("scene", () => this.render(stage.picture));
  }

  private drawn: Picture | null = null;

  private render(picture: Picture): void {
    if (picture === this.drawn) return;
    this.drawn = picture;
    this.nodes = MARKS.map((_, mark) => marked(picture, mark));
    this.at = MARKS.map(() => -1);
    const chips = ORDER.filter((mark) => this.nodes[mark].length > 0).map((mark) => h("button", {
      type: "button", class: `wb-chip wb-mark-${MARKS[mark]}`, "data-testid": `chip-${MARKS[mark]}`,
      title: `Go to the next ${MARKS[mark]} node`, onclick: () => this.next(mark),
    }, h("span", { class: "wb-sign", "aria-hidden": "true" }, sign(mark)), `${this.nodes[mark].length} ${MARKS[mark]}`));
    replace(this.element, chips.length > 0 ? chips : picture.compares && picture.nodeCount > 0 ? h("span", { class: "wb-dim" }, regrouped(picture)) : null);
  }

  next(mark: number): void {
    const list = this.nodes[mark];
    if (!list || list.length === 0) return;
    this.at[mark] = (this.at[mark] + 1) % list.length;
    void this.stage.reveal([list[this.at[mark]]], false);
  }

  private all = -1;

  /** The next change of any kind, top to bottom. */
  nextOfAny(): void {
    const scene = this.stage.scene;
    if (!scene) return;
    const y = (u: number) => scene.y[scene.visible.itemOf[u]] ?? Infinity;
    const list = [...new Set(this.nodes.slice(1).flat())].sort((a, b) => y(a) - y(b) || a - b);
    if (list.length === 0) return;
    this.all = (this.all + 1) % list.length;
    void this.stage.reveal([list[this.all]], false);
  }
}

function regrouped(picture: Picture): string {
  return picture.groups.side.some((side) => side !== 3) ? "same ops, grouped differently" : "no change";
}

function marked(picture: Picture, mark: number): number[] {
  if (mark === 0) return [];
  const out: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++) {
    if ((picture.side[u] & 1 && picture.mark[0][u] === mark) || (picture.side[u] & 2 && picture.mark[1][u] === mark)) out.push(u);
  }
  return out;
}
