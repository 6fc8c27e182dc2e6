import dagre from "@dagrejs/dagre";

export function layout(input) {
  const { nodes, edges, groups } = input;
  const graph = new dagre.graphlib.Graph({ multigraph: true, compound: true });
  graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 36 });
  graph.setDefaultEdgeLabel(() => ({}));
  groups.parent.forEach((_, g) => graph.setNode(`g${g}`, {}));
  nodes.width.forEach((width, n) => graph.setNode(`n${n}`, { width, height: nodes.height[n] }));
  groups.parent.forEach((p, g) => p >= 0 && graph.setParent(`g${g}`, `g${p}`));
  nodes.group.forEach((g, n) => g >= 0 && graph.setParent(`n${n}`, `g${g}`));
  edges.source.forEach((s, e) => graph.setEdge(`n${s}`, `n${edges.target[e]}`, {}, `${e}`));
  dagre.layout(graph);
  const lines = Array.from(edges.source, (s, e) => graph.edge(`n${s}`, `n${edges.target[e]}`, `${e}`).points.flatMap(({ x, y }) => [x, y]));
  return { lines, width: graph.graph().width, height: graph.graph().height };
}
