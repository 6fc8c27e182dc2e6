/**
 * In "changed only", runs of nodes that are not shown become one item, "··· 23 unchanged", so that one still sees
 * what feeds what. Two hidden nodes are in one gap only if no shown node lies between them on any path, and so
 * the gaps can never make the flow run in a circle.
 */
import { rowsBy, topological } from "./csr.ts";
import { type Picture } from "./picture.ts";

/** For each node the gap it is in (a node's number that stands for the gap), or -1 for shown and left-out nodes. */
export function gaps(picture: Picture, only: Uint8Array, leftOut: (u: number) => boolean): Int32Array {
  const depth = shownAbove(picture, only);
  const hidden = (u: number) => !only[u] && !leftOut(u);
  const root = new Int32Array(picture.nodeCount).fill(-1);
  for (let u = 0; u < picture.nodeCount; u++) if (hidden(u)) root[u] = u;
  for (let e = 0; e < picture.edgeCount; e++) {
    const [u, v] = [picture.source[e], picture.target[e]];
    if (root[u] < 0 || root[v] < 0 || depth[u] !== depth[v] || picture.weak[e]) continue;
    const [a, b] = [find(root, u), find(root, v)];
    root[Math.max(a, b)] = Math.min(a, b);
  }
  for (let u = 0; u < picture.nodeCount; u++) if (root[u] >= 0) root[u] = find(root, u);
  return root;
}

/** The most shown nodes on any path to a node. */
function shownAbove(picture: Picture, only: Uint8Array): Uint32Array {
  const depth = new Uint32Array(picture.nodeCount);
  const out = rowsBy(picture.source, picture.nodeCount);
  for (const u of topological(picture.source, picture.target, picture.nodeCount, picture.weak, out))
    for (let i = out.offset[u]; i < out.offset[u + 1]; i++) {
      const v = picture.target[out.items[i]];
      if (!picture.weak[out.items[i]]) depth[v] = Math.max(depth[v], depth[u] + only[u]);
    }
  return depth;
}

function find(root: Int32Array, u: number): number {
  let top = u;
  while (root[top] !== top) top = root[top];
  for (let at = u; root[at] !== top; ) [at, root[at]] = [root[at], top];
  return top;
}

/** The innermost group around all of some nodes, -1 for none. */
export function commonGroup(picture: Picture, nodes: readonly number[]): number {
  const { parent } = picture.groups;
  for (let g = picture.group[nodes[0]] ?? -1; g >= 0; g = parent[g]) {
    const holds = (u: number) => {
      for (let h = picture.group[u]; h >= 0; h = parent[h]) if (h === g) return true;
      return false;
    };
    if (nodes.every(holds)) return g;
  }
  return -1;
}
