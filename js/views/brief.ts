/** The selection in one line at the foot of the graph: for those who have no inspector open, and for screen readers. */
import { chosenAttributes, compactType, groupName, opName } from "../graph/labels.ts";
import { GROUP_KINDS, GroupKind, text } from "../graph/payload.ts";
import { MARKS, groupsOf, sideOf, type Picture } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { h, setText } from "./dom.ts";

export class Brief {
  readonly element = h("div", { class: "wb-brief", role: "status", "aria-live": "polite", hidden: true });

  constructor(stage: Stage) {
    const show = () => {
      const words = describeSelection(stage.picture, stage.selection);
      this.element.hidden = words === "";
      setText(this.element, words);
    };
    stage.events.on("select", show);
    stage.events.on("scene", show);
  }
}

export function describeSelection(picture: Picture, nodes: readonly number[]): string {
  if (nodes.length === 0) return "";
  if (nodes.length > 1) return `${nodes.length} nodes selected`;
  const u = nodes[0];
  const s = sideOf(picture, u, 1);
  const graph = picture.sides[s];
  const v = picture.id[s][u];
  const type = compactType(text(graph, graph.type[v]));
  const mark = Math.max(picture.mark[0][u], picture.mark[1][u]);
  const [box] = groupsOf(picture, u);
  const kernel = box !== undefined && picture.groups.kind[box] !== GroupKind.function;
  const parts = [
    opName(text(graph, graph.label[v])) || "(no name)", type, chosenAttributes(text(graph, graph.attrs[v]), type),
    kernel ? `in ${GROUP_KINDS[picture.groups.kind[box]] === "primitive" ? "kernel " : ""}${groupName(picture.groups.name[box])}` : "",
    picture.compares && mark > 0 ? MARKS[mark] : "",
  ];
  return parts.filter(Boolean).map((part) => oneLine(part, 120)).join("  ·  ");
}
