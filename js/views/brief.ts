/** The selection in one line at the foot of the graph: for those who have no inspector open, and for screen readers. */
import { chosenAttributes, compactType, groupName, opName } from "../graph/labels.ts";
import { GROUP_KINDS, GroupKind, text } from "../graph/payload.ts";
import { MARKS, groupsOf, sideOf, type Picture } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { button, h, setText } from "./dom.ts";
import { selectAround, selectPaths, selectStream } from "./graph_keys.ts";

/** In an overlay, and beside each other, what flows on either side counts. */
const EITHER = 3;

export class Brief {
  private readonly words = h("span", { class: "wb-brief-words", role: "status", "aria-live": "polite", "data-testid": "brief" });
  private readonly paths: HTMLButtonElement;
  readonly element: HTMLElement;

  constructor(stage: Stage) {
    const small = (name: string) => ({ class: "wb-button wb-small", "data-testid": name });
    this.paths = button("paths", "Select all paths between the selected nodes (p)", () => selectPaths(stage, EITHER), small("select-paths"));
    this.element = h("div", { class: "wb-brief", hidden: true }, this.words, h("span", { class: "wb-brief-tools", role: "group", "aria-label": "Select more" },
      button("↑ up", "Select everything upstream ([)", () => selectStream(stage, "up", EITHER), small("select-up")),
      button("↓ down", "Select everything downstream (])", () => selectStream(stage, "down", EITHER), small("select-down")),
      button("+1 around", "Select one step more in every direction (e)", () => selectAround(stage), small("select-around")),
      this.paths,
      button("zoom", "Zoom to the selection (s)", () => stage.fitItems(stage.look.selected), small("select-zoom"))));
    const show = () => {
      const words = describeSelection(stage.picture, stage.selection);
      this.element.hidden = words === "";
      this.paths.hidden = stage.selection.length < 2;
      setText(this.words, words);
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
