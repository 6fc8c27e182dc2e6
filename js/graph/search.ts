/**
 * The query language of the search box. Words are joined by "and"; each is a substring of the op, name, type or
 * attributes, or `field:text`. "quoted words" keep their blanks, a leading - means not.
 *   op:conv2d dtype:int8      shape:64x64      attr:strides      name:layer_0      kind:param      mark:added      -op:cast
 */
import { compactType, dtype, shortShape } from "./labels.ts";
import { KINDS, textOf } from "./payload.ts";
import { groupsOf, MARKS, type Picture, placeOf } from "./picture.ts";

export const FIELDS = ["op", "name", "type", "dtype", "shape", "attr", "kind", "mark", "group"] as const;
type Field = (typeof FIELDS)[number];

interface Term {
  field: Field | "any";
  text: string;
  not: boolean;
}

export function parse(query: string): Term[] {
  const terms: Term[] = [];
  for (const [, minus, field, quoted, bare] of query.matchAll(/(-?)(?:(\w+):)?(?:"([^"]*)"?|([^\s"]+))/g)) {
    const known = FIELDS.find((f) => f === field?.toLowerCase());
    // An unknown field is part of the word: names such as "a:b" occur.
    const word = `${field && !known ? `${field}:` : ""}${quoted ?? bare ?? ""}`.toLowerCase();
    if (word !== "") terms.push({ field: known ?? "any", text: word, not: minus === "-" });
  }
  return terms;
}

/** The picture's nodes that match all terms, in order. */
export function search(picture: Picture, query: string): number[] {
  const terms = parse(query);
  if (terms.length === 0) return [];
  const found: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++) {
    if (terms.every((term) => matches(picture, u, term) !== term.not)) found.push(u);
  }
  return found;
}

function matches(picture: Picture, u: number, term: Term): boolean {
  const { graph, id: v } = placeOf(picture, u, 1);
  const has = (value: string) => value.toLowerCase().includes(term.text);
  const type = () => textOf(graph, "type", v);
  switch (term.field) {
    case "op":
      return has(textOf(graph, "label", v));
    case "name":
      return has(textOf(graph, "name", v)) || has(textOf(graph, "span", v));
    case "type":
      return has(compactType(type()));
    case "dtype":
      return has(dtype(type()));
    case "shape":
      return hasShape(shortShape(type()), term.text);
    case "attr":
      return has(textOf(graph, "attrs", v));
    case "kind":
      return has(KINDS[graph.kind[v]] ?? "");
    case "mark":
      return has(MARKS[picture.mark[0][u]] ?? "") || has(MARKS[picture.mark[1][u]] ?? "");
    case "group":
      return groupNames(picture, u).some(has);
    default:
      return (
        has(textOf(graph, "label", v)) ||
        has(textOf(graph, "name", v)) ||
        has(compactType(type())) ||
        has(textOf(graph, "attrs", v)) ||
        has(textOf(graph, "span", v)) ||
        groupNames(picture, u).some(has)
      );
  }
}

/** "64" finds a dimension of 64, "64x3" two neighbours; 64 doesn't find 640. */
function hasShape(shape: string, wanted: string): boolean {
  const dims = wanted.replace(/[(),\s]+/g, "x").replace(/^x|x$/g, "");
  return `x${shape}x`.includes(`x${dims}x`);
}

function groupNames(picture: Picture, u: number): string[] {
  return groupsOf(picture, u).map((g) => picture.groups.name[g]);
}
