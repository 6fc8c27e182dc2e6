/**
 * Finds the edges to turn round so that the boxes of every level form a DAG (Sugiyama's first step). A dataflow graph
 * has no cycle, but its boxes can: a scope that is left and entered again, or a collapsed one. Inside a strongly
 * connected part, boxes are ranked by the mean number of their nodes - producers come first - and edges against
 * that ranking are turned: a local rule, so that a small change of the graph turns few edges differently.
 * The edges of all levels are searched together: items of different levels share no edge, so they never meet.
 */
import { rowsBy } from "./level.ts";

export function breakCycles(source: Int32Array, target: Int32Array, rank: Float64Array): Uint8Array {
  const part = strongParts(rank.length, source, target);
  const turned = new Uint8Array(source.length);
  for (let e = 0; e < source.length; e++) {
    const s = source[e],
      t = target[e];
    if (s === t || part[s] !== part[t]) continue;
    if (rank[s] > rank[t] || (rank[s] === rank[t] && s > t)) turned[e] = 1;
  }
  return turned;
}

/** R. Tarjan, "Depth-first search and linear graph algorithms" (1972), with its own stack instead of recursion. */
function strongParts(count: number, source: Int32Array, target: Int32Array): Int32Array {
  const { offset, items } = rowsBy(source, count);
  const part = new Int32Array(count).fill(-1);
  const index = new Int32Array(count).fill(-1),
    low = new Int32Array(count);
  const next = offset.slice(0, count);
  const path: number[] = [],
    pending: number[] = [];
  let found = 0;
  const enter = (v: number): void => {
    index[v] = low[v] = found++;
    path.push(v);
    pending.push(v);
  };
  for (let root = 0; root < count; root++) {
    if (index[root] >= 0) continue;
    enter(root);
    while (path.length > 0) {
      const v = path[path.length - 1];
      if (next[v] < offset[v + 1]) {
        const u = target[items[next[v]++]];
        if (index[u] < 0) enter(u);
        else if (part[u] < 0) low[v] = Math.min(low[v], index[u]);
        continue;
      }
      path.pop();
      if (path.length > 0) low[path[path.length - 1]] = Math.min(low[path[path.length - 1]], low[v]);
      if (low[v] !== index[v]) continue;
      for (let u = -1; u !== v; ) {
        u = pending.pop()!;
        part[u] = v;
      }
    }
  }
  return part;
}
