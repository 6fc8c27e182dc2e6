/** What a box has no room for: the whole name, type and attributes, in words, as plain text. */
import { attributes, compactType, groupName } from "../graph/labels.ts";
import { GROUP_KINDS, text } from "../graph/payload.ts";
import { sideOf } from "../graph/picture.ts";
import { markOf, type Frame } from "../render/frame.ts";
import { type Hit } from "../render/hit.ts";
import { edgeText } from "../render/paint_edges.ts";
import { oneLine } from "../render/text.ts";
import { h, replace } from "./dom.ts";

const DELAY_MS = 280;

export class Tooltip {
  readonly element = h("div", { class: "wb-tooltip", role: "tooltip", hidden: true });
  private timer = 0;
  private shown = "";

  show(frame: Frame, found: Hit, at: { x: number; y: number }): void {
    const key = `${found.item},${found.badge},${found.group},${found.edge}`;
    const lines = describe(frame, found);
    if (lines.length === 0) return this.hide();
    if (key === this.shown && !this.element.hidden) return this.place(frame, at);
    clearTimeout(this.timer);
    this.element.hidden = true;
    this.shown = key;
    this.timer = window.setTimeout(() => {
      replace(this.element, lines.map((line, i) => h("div", { class: i === 0 ? "wb-strong" : "wb-dim" }, line)));
      this.element.hidden = false;
      this.place(frame, at);
    }, DELAY_MS);
  }

  private place(frame: Frame, at: { x: number; y: number }): void {
    const { offsetWidth: w, offsetHeight: hh } = this.element;
    const left = at.x + 14 + w > frame.view.width ? Math.max(4, at.x - w - 10) : at.x + 14;
    const top = at.y + 16 + hh > frame.view.height ? Math.max(4, at.y - hh - 10) : at.y + 16;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  hide(): void {
    clearTimeout(this.timer);
    this.element.hidden = true;
    this.shown = "";
  }
}

const WORDS = ["", "changed by this pass", "removed by this pass", "added by this pass", "merged with others", "split into several"];

export function describe(frame: Frame, found: Hit): string[] {
  const { visible } = frame.scene;
  const { picture } = visible;
  if (found.badge >= 0) return nodeLines(frame, found.badge);
  if (found.item >= 0 && visible.node[found.item] >= 0) {
    const mark = markOf(frame, found.item);
    return [...nodeLines(frame, visible.node[found.item]), ...(mark > 0 ? [WORDS[mark]] : [])];
  }
  if (found.group >= 0) {
    const { groups } = picture;
    const kind = GROUP_KINDS[groups.kind[found.group]] ?? "group";
    const words = kind === "primitive" ? "one kernel" : kind;
    return [groupName(groups.name[found.group]), `${words}: double-click to ${found.item >= 0 ? "open" : "close"}`];
  }
  return found.edge >= 0 ? [edgeText(frame, found.edge)] : [];
}

function nodeLines(frame: Frame, u: number): string[] {
  const { picture } = frame.scene.visible;
  const s = sideOf(picture, u, frame.textSide);
  const graph = picture.sides[s];
  const v = picture.id[s][u];
  const lines = [oneLine(text(graph, graph.label[v])), oneLine(compactType(text(graph, graph.type[v])))];
  for (const [key, value] of attributes(text(graph, graph.attrs[v])).slice(0, 10)) lines.push(oneLine(`${key}: ${value}`, 160));
  const name = text(graph, graph.name[v]);
  if (name && name !== lines[0]) lines.push(oneLine(name, 160));
  return lines.filter((line) => line !== "");
}

