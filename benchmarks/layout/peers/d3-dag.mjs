import { graphStratify, sugiyama } from "d3-dag";

export function layout(input) {
  const parents = Array.from(input.nodes.width, () => new Set());
  input.edges.source.forEach((s, e) => parents[input.edges.target[e]].add(String(s)));
  const graph = graphStratify()(parents.map((ids, n) => ({ id: String(n), parentIds: [...ids] })));
  const { width, height } = sugiyama().nodeSize(({ data }) => [input.nodes.width[data.id], input.nodes.height[data.id]]).gap([24, 36])(graph);
  const points = new Map();
  for (const link of graph.links()) points.set(`${link.source.data.id} ${link.target.data.id}`, link.points.flat());
  return { lines: Array.from(input.edges.source, (s, e) => points.get(`${s} ${input.edges.target[e]}`) ?? []), width, height };
}
