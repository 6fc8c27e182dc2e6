/** A node as text, for the clipboard: name, type, attributes. */
import { attributes, compactType } from "./labels.ts";
import { textOf } from "./payload.ts";
import { type Picture, placeOf } from "./picture.ts";

/** Nodes beyond this are counted, not listed. */
const MOST = 1000;

export function nodesAsText(picture: Picture, nodes: readonly number[]): string {
  const shown = nodes.slice(0, MOST).map((u) => nodeAsText(picture, u));
  return [...shown, ...(nodes.length > MOST ? [`and ${nodes.length - MOST} more`] : [])].join("\n\n");
}

function nodeAsText(picture: Picture, u: number): string {
  const { graph, id: v } = placeOf(picture, u, 1);
  const [label, name] = [textOf(graph, "label", v), textOf(graph, "name", v)];
  const lines = [
    name && name !== label ? `${label}  ${name}` : label,
    compactType(textOf(graph, "type", v)),
    ...attributes(textOf(graph, "attrs", v)).map(([key, value]) => `${key}: ${value}`),
  ];
  return lines.filter(Boolean).join("\n");
}
