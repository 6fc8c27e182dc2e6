/** Selections of a comparison: ids per side for Python, nodes of the picture for the stage. */
import { type Picture } from "../graph/picture.ts";
import { numbers } from "./model.ts";

interface Sides {
  before: number[];
  after: number[];
}

export function toSides(picture: Picture, nodes: readonly number[]): Sides {
  const take = (s: 0 | 1) => nodes.map((u) => picture.id[s][u] ?? -1).filter((v) => v >= 0);
  return { before: take(0), after: take(1) };
}

export function fromSides(picture: Picture, raw: unknown): number[] {
  const sides = (raw ?? {}) as Partial<Sides>;
  const nodes = [0, 1].flatMap((s) =>
    numbers(s === 0 ? sides.before : sides.after).map((v) => picture.node[s as 0 | 1][v] ?? -1),
  );
  return [...new Set(nodes.filter((u) => u >= 0))];
}
