// DOT text for an input, and polylines back from Graphviz's JSON (its splines sampled).
const SAMPLES = 12;
const POINTS_PER_INCH = 72;

export function toDot(input, settings = "") {
  const { nodes, edges, groups } = input;
  const out = ["digraph G { node [shape=box fixedsize=true label=\"\"]; nodesep=0.33; ranksep=0.5;", settings];
  const children = Array.from({ length: groups.parent.length + 1 }, () => []);
  const members = Array.from({ length: groups.parent.length + 1 }, () => []);
  const slot = (g) => (g < 0 ? groups.parent.length : g);
  groups.parent.forEach((p, g) => children[slot(p)].push(g));
  nodes.group.forEach((g, n) => members[slot(g)].push(n));
  const write = (g) => {
    for (const n of members[slot(g)])
      out.push(`n${n} [width=${(nodes.width[n] / POINTS_PER_INCH).toFixed(4)} height=${(nodes.height[n] / POINTS_PER_INCH).toFixed(4)}];`);
    for (const child of children[slot(g)]) {
      out.push(`subgraph cluster_${child} {`);
      write(child);
      out.push("}");
    }
  };
  write(-1);
  edges.source.forEach((s, e) => out.push(`n${s} -> n${edges.target[e]} [id="${e}"];`));
  return out.join("\n") + "}";
}

export function linesFromGraphviz(json, input) {
  const lines = Array.from({ length: input.edges.source.length }, () => []);
  for (const edge of json.edges ?? []) lines[Number(edge.id)] = sampled(edge.pos);
  const [, , width, height] = json.bb.split(",").map(Number);
  return { lines, width, height };
}

function sampled(pos) {
  const points = pos.split(" ").filter((p) => !/^[se],/.test(p)).map((p) => p.split(",").map(Number));
  const end = pos.match(/e,(\S+)/)?.[1].split(",").map(Number);
  const line = [points[0][0], -points[0][1]];
  for (let i = 0; i + 3 < points.length; i += 3)
    for (let k = 1; k <= SAMPLES; k++) {
      const t = k / SAMPLES, s = 1 - t;
      const at = (axis) => s ** 3 * points[i][axis] + 3 * s * s * t * points[i + 1][axis] + 3 * s * t * t * points[i + 2][axis] + t ** 3 * points[i + 3][axis];
      line.push(at(0), -at(1));
    }
  if (end) line.push(end[0], -end[1]);
  return line;
}
