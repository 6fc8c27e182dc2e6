// Native dot under the rule we keep: inputs enter a box in argument order (ordering=in).
import { graphviz } from "./dot.mjs";

export function layout(input) {
  const { source, target, port } = input.edges;
  // dot takes the order from the text; lines are handed back in the caller's order.
  const order = [...source.keys()].sort((a, b) => target[a] - target[b] || port[a] - port[b]);
  const sorted = { ...input, edges: { source: order.map((e) => source[e]), target: order.map((e) => target[e]) } };
  const drawn = graphviz(sorted, "ordering=in;");
  const lines = [];
  order.forEach((e, i) => { lines[e] = drawn.lines[i]; });
  return { ...drawn, lines };
}
