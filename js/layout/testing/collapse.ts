/** What is visible when only some groups are open: a closed group becomes one node, as the graph view does it. */
import { type LayoutInput } from "../types.ts";

export function collapse(input: LayoutInput, isOpen: (group: number) => boolean): LayoutInput {
  const { nodes, edges, groups } = input,
    nodeCount = nodes.width.length,
    groupCount = groups.parent.length;
  // The outermost closed group around each group, or -1: parents are looked up before children by walking outwards.
  const closed = Int32Array.from(groups.parent, (_, g) => {
    let found = -1;
    for (let a = g; a >= 0; a = groups.parent[a]) if (!isOpen(a)) found = a;
    return found;
  });
  const group = new Int32Array(groupCount).fill(-1),
    shown = new Int32Array(nodeCount + groupCount).fill(-1);
  let openCount = 0;
  for (let g = 0; g < groupCount; g++) if (closed[g] < 0) group[g] = openCount++;
  const kept: number[] = [];
  for (let n = 0; n < nodeCount; n++) {
    const g = nodes.group[n],
      item = g >= 0 && closed[g] >= 0 ? nodeCount + closed[g] : n;
    if (shown[item] < 0) shown[item] = kept.push(item) - 1;
  }
  const visible = (n: number): number =>
    shown[nodes.group[n] >= 0 && closed[nodes.group[n]] >= 0 ? nodeCount + closed[nodes.group[n]] : n];
  const outer = (item: number): number => {
    const g = item < nodeCount ? nodes.group[item] : groups.parent[item - nodeCount];
    return g < 0 ? -1 : group[g];
  };
  const seen = new Set<string>(),
    list: number[] = [];
  for (let e = 0; e < edges.source.length; e++) {
    const s = visible(edges.source[e]),
      t = visible(edges.target[e]);
    if (s === t) continue;
    const toGroup = kept[t] >= nodeCount,
      key = `${s} ${t} ${toGroup ? "" : edges.port[e]}`;
    if (!seen.has(key)) {
      seen.add(key);
      list.push(e);
    }
  }
  const open = [...group.keys()].filter((g) => group[g] >= 0);
  return {
    nodes: {
      width: Float32Array.from(kept, (i) =>
        i < nodeCount ? nodes.width[i] : Math.max(80, groups.minWidth[i - nodeCount]),
      ),
      height: Float32Array.from(kept, (i) => (i < nodeCount ? nodes.height[i] : 40)),
      group: Int32Array.from(kept, outer),
    },
    edges: {
      source: Uint32Array.from(list, (e) => visible(edges.source[e])),
      target: Uint32Array.from(list, (e) => visible(edges.target[e])),
      port: Uint16Array.from(list, (e) => edges.port[e]),
    },
    groups: {
      parent: Int32Array.from(open, (g) => (groups.parent[g] < 0 ? -1 : group[groups.parent[g]])),
      headerHeight: Float32Array.from(open, (g) => groups.headerHeight[g]),
      minWidth: Float32Array.from(open, (g) => groups.minWidth[g]),
    },
  };
}
