import ELK from "elkjs/lib/elk.bundled.js";

export async function layout(input) {
  const { nodes, edges, groups } = input;
  const box = (id) => ({ id, children: [] });
  const boxes = Array.from(groups.parent, (_, g) => box(`g${g}`));
  const root = { ...box("root"), edges: [], layoutOptions: { "elk.algorithm": "layered", "elk.direction": "DOWN", "elk.hierarchyHandling": "INCLUDE_CHILDREN", "elk.edgeRouting": "POLYLINE", "elk.json.edgeCoords": "ROOT" } };
  const home = (g) => (g < 0 ? root : boxes[g]);
  groups.parent.forEach((p, g) => home(p).children.push(boxes[g]));
  nodes.group.forEach((g, n) => home(g).children.push({ id: `n${n}`, width: nodes.width[n], height: nodes.height[n] }));
  edges.source.forEach((s, e) => root.edges.push({ id: `e${e}`, sources: [`n${s}`], targets: [`n${edges.target[e]}`] }));
  const laid = await new ELK().layout(root);
  const lines = laid.edges.map(({ sections: [{ startPoint, bendPoints = [], endPoint }] }) => [startPoint, ...bendPoints, endPoint].flatMap(({ x, y }) => [x, y]));
  return { lines, width: laid.width, height: laid.height };
}
