/** Small changes to a graph, of the kind a pass makes. */
import { type LayoutInput, type LayoutResult } from "../types.ts";

/** Drops nodes and joins their producers to their consumers, as removing a cast does. */
export function without(
  input: LayoutInput,
  drop: (node: number) => boolean,
): { input: LayoutInput; kept: [number, number][] } {
  const count = input.nodes.width.length,
    number = new Int32Array(count).fill(-1);
  const kept: [number, number][] = [];
  for (let n = 0; n < count; n++) {
    if (drop(n)) continue;
    number[n] = kept.length;
    kept.push([n, number[n]]);
  }
  const firstInput = new Int32Array(count).fill(-1);
  input.edges.target.forEach((t, e) => {
    if (firstInput[t] < 0) firstInput[t] = input.edges.source[e];
  });
  const source: number[] = [],
    target: number[] = [],
    port: number[] = [];
  input.edges.target.forEach((t, e) => {
    let s = input.edges.source[e];
    while (s >= 0 && number[s] < 0) s = firstInput[s];
    if (s < 0 || number[t] < 0) return;
    source.push(number[s]);
    target.push(number[t]);
    port.push(input.edges.port[e]);
  });
  const pick = (column: Float32Array): Float32Array => Float32Array.from(kept, ([n]) => column[n]);
  return {
    kept,
    input: {
      nodes: {
        width: pick(input.nodes.width),
        height: pick(input.nodes.height),
        group: Int32Array.from(kept, ([n]) => input.nodes.group[n]),
      },
      edges: { source: Uint32Array.from(source), target: Uint32Array.from(target), port: Uint16Array.from(port) },
      groups: input.groups,
    },
  };
}

/** What is visible when only some groups are open: a closed group becomes one node, as the graph view does it. */
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

/** All nodes of a graph, each kept as itself. */
export const all = (input: LayoutInput): [number, number][] => Array.from(input.nodes.width, (_, i) => [i, i]);

/** A question with the places that kept nodes had; pairs of their numbers before and after. */
export function seeded(input: LayoutInput, before: LayoutResult, kept: [number, number][]): LayoutInput {
  const x = new Float32Array(input.nodes.width.length).fill(NaN),
    y = x.slice();
  for (const [a, b] of kept) {
    x[b] = before.x[a];
    y[b] = before.y[a];
  }
  return { ...input, seed: { x, y } };
}
