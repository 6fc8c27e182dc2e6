/** The selected op in words: what it is, what flows in and out, which kernel it is in, what the pass did to it. */
import { attributes, bytes, compactType, formatBytes, groupName, opName } from "../graph/labels.ts";
import { GROUP_KINDS, Kind, KINDS, PATTERN_CODES, PATTERNS, text } from "../graph/payload.ts";
import { MARKS, groupsOf, type Picture } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { h, replace } from "./dom.ts";

const SENTENCE = ["", "This pass changed it.", "This pass removed it.", "This pass added it.", "Several became this one.", "This one became several."];

export class Inspector {
  readonly element = h("div", { class: "wb-panel-body wb-inspector", "data-testid": "inspector" });

  constructor(private readonly stage: Stage) {
    stage.events.on("select", () => this.show());
    stage.events.on("scene", () => this.show());
    this.show();
  }

  private show(): void {
    const { picture, selection } = this.stage;
    if (selection.length === 0) {
      replace(this.element, h("p", { class: "wb-dim" }, "Click a node to see its type, attributes and kernel. Press ? in the graph for the keys."));
    } else if (selection.length === 1) replace(this.element, this.node(picture, selection[0]));
    else replace(this.element, this.several(picture, selection));
  }

  private node(picture: Picture, u: number): HTMLElement[] {
    const on = ([0, 1] as const).filter((s) => picture.id[s][u] >= 0);
    const s = on[on.length - 1];
    const graph = picture.sides[s];
    const v = picture.id[s][u];
    const kind = KINDS[graph.kind[v]] ?? "node";
    const mark = picture.compares ? Math.max(...on.map((side) => picture.mark[side][u])) : 0;
    const name = text(graph, graph.name[v]);
    const facts: [string, string][] = [["kind", kind === "param" ? "parameter" : kind.replace("_", " ")]];
    const pattern = PATTERNS[graph.pattern[v]];
    if (kind === "op" && pattern) facts.push(["fuses as", `${pattern} (${PATTERN_CODES[graph.pattern[v]]})`]);
    if (name && name !== text(graph, graph.label[v])) facts.push(["name", name]);
    const size = bytes(text(graph, graph.type[v]));
    if (size > 0) facts.push(["size", formatBytes(size)]);
    if (text(graph, graph.span[v])) facts.push(["span", text(graph, graph.span[v])]);
    const partners = picture.partners.get(u) ?? [];
    return [
      h("h3", { class: "wb-op" }, oneLine(text(graph, graph.label[v])) || "(no name)"),
      h("div", { class: "wb-type" }, oneLine(compactType(text(graph, graph.type[v])), 600)),
      ...(mark > 0 ? [h("p", { class: `wb-mark-${MARKS[mark]}` }, SENTENCE[mark])] : []),
      table(facts),
      ...this.attributes(picture, u, on),
      ...this.groups(picture, u),
      ...this.links("Inputs", this.inputs(picture, u)),
      ...this.links("Used by", this.users(picture, u)),
      ...this.links(mark === 5 || mark === 1 ? "Became" : "Together with", partners.map((w) => ({ node: w, port: "" }))),
    ];
  }

  /** Attributes of both sides, and where they differ the old value struck out before the new. */
  private attributes(picture: Picture, u: number, on: readonly (0 | 1)[]): HTMLElement[] {
    const read = (s: 0 | 1) => new Map(attributes(text(picture.sides[s], picture.sides[s].attrs[picture.id[s][u]])));
    const maps = on.map(read);
    const keys = [...new Set(maps.flatMap((map) => [...map.keys()]))];
    if (keys.length === 0) return [];
    const rows = keys.map((key) => {
      const values = maps.map((map) => map.get(key) ?? "");
      const now = values[values.length - 1];
      const same = values.every((value) => value === now);
      return h("tr", {}, h("th", {}, oneLine(key, 60)),
        h("td", {}, same ? null : h("del", { class: "wb-mark-removed" }, oneLine(values[0]) || "(none)"), same ? null : " ", h("span", { class: same ? "" : "wb-mark-changed" }, oneLine(now) || (same ? '""' : "(none)"))));
    });
    return [h("h4", {}, "Attributes"), h("table", { class: "wb-facts-table" }, rows)];
  }

  private groups(picture: Picture, u: number): HTMLElement[] {
    const { groups } = picture;
    const rows: HTMLElement[] = [];
    for (const g of groupsOf(picture, u)) {
      const kind = GROUP_KINDS[groups.kind[g]];
      const word = kind === "primitive" ? "kernel" : kind;
      const only = picture.compares && groups.side[g] !== 3 ? (groups.side[g] === 2 ? " (after)" : " (before)") : "";
      rows.push(h("tr", {}, h("th", {}, word), h("td", {}, groupName(groups.name[g]) + only)));
    }
    return rows.length > 0 ? [h("h4", {}, "In"), h("table", { class: "wb-facts-table" }, rows)] : [];
  }

  private inputs(picture: Picture, u: number): { node: number; port: string }[] {
    const found: { node: number; port: number }[] = [];
    for (let e = 0; e < picture.edgeCount; e++) if (picture.target[e] === u) found.push({ node: picture.source[e], port: picture.index[e] });
    return found.sort((a, b) => a.port - b.port).slice(0, 40).map(({ node, port }) => ({ node, port: String(port) }));
  }

  private users(picture: Picture, u: number): { node: number; port: string }[] {
    const found: { node: number; port: string }[] = [];
    for (let e = 0; e < picture.edgeCount && found.length < 40; e++) if (picture.source[e] === u) found.push({ node: picture.target[e], port: "" });
    return found;
  }

  private links(title: string, list: { node: number; port: string }[]): HTMLElement[] {
    if (list.length === 0) return [];
    const { picture } = this.stage;
    const rows = list.map(({ node, port }) => {
      const s = picture.id[1][node] >= 0 ? 1 : 0;
      const graph = picture.sides[s];
      const v = picture.id[s][node];
      const constant = graph.kind[v] === Kind.constant;
      const label = constant ? text(graph, graph.name[v]) || "const" : opName(text(graph, graph.label[v]));
      return h("li", {}, port ? h("span", { class: "wb-dim" }, `${port} `) : null,
        h("button", { type: "button", class: "wb-link", onclick: () => void this.stage.reveal([node], false) }, oneLine(label, 60) || "(no name)"),
        h("span", { class: "wb-dim" }, ` ${oneLine(compactType(text(graph, graph.type[v])), 80)}`));
    });
    return [h("h4", {}, title), h("ul", { class: "wb-links" }, rows)];
  }

  private several(picture: Picture, nodes: number[]): HTMLElement[] {
    const counts = new Map<string, number>();
    for (const u of nodes) {
      const s = picture.id[1][u] >= 0 ? 1 : 0;
      const graph = picture.sides[s];
      const v = picture.id[s][u];
      const label = graph.kind[v] === Kind.constant ? "constant" : graph.kind[v] === Kind.param ? "parameter" : opName(oneLine(text(graph, graph.label[v]), 60));
      counts.set(label, (counts.get(label) ?? 0) + 1);
    }
    const shared = picture.group[nodes[0]];
    const one = shared >= 0 && nodes.every((u) => picture.group[u] === shared);
    return [
      h("h3", { class: "wb-op" }, one ? groupName(picture.groups.name[shared]) : `${nodes.length} nodes`),
      ...(one ? [h("p", { class: "wb-dim" }, `${GROUP_KINDS[picture.groups.kind[shared]] === "primitive" ? "One kernel" : GROUP_KINDS[picture.groups.kind[shared]]} of ${nodes.length} nodes`)] : []),
      table([...counts].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([op, n]) => [op, `× ${n}`])),
    ];
  }
}

function table(facts: [string, string][]): HTMLElement {
  return h("table", { class: "wb-facts-table" }, facts.map(([key, value]) => h("tr", {}, h("th", {}, key), h("td", {}, oneLine(value, 600)))));
}
