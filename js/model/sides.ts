/** Selections of a comparison: ids per side for Python, nodes of the picture for the stage. */
import { type Picture } from "../graph/picture.ts";
import { type Sides } from "./messages.ts";

export function toSides(picture: Picture, nodes: readonly number[]): Sides {
  const take = (s: 0 | 1) => nodes.map((u) => picture.id[s][u] ?? -1).filter((v) => v >= 0);
  return { before: take(0), after: take(1) };
}

/** The nodes of a picture that Python names: by side, or of a lone graph. */
export function fromSides(picture: Picture, ids: readonly number[] | Sides = {}): number[] {
  const { before = [], after = [] }: Sides = "length" in ids ? { before: [...ids] } : ids;
  const nodes = ([before, after] as const).flatMap((side, s) =>
    side.map((v) => picture.node[s === 0 ? 0 : 1][v] ?? -1),
  );
  return [...new Set(nodes.filter((u) => u >= 0))];
}
