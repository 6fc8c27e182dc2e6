/**
 * Finds the edges to turn round so that the boxes of every level form a DAG. A dataflow graph has no cycle,
 * but its boxes can: a scope that is left and entered again, or a collapsed one. Depth-first search without
 * recursion; an edge back to a box still on the path is turned (Sugiyama's first step). The edges of all
 * levels are searched together: items of different levels share no edge, so they never meet.
 */
export function breakCycles(itemCount: number, source: Int32Array, target: Int32Array): Uint8Array {
  const turned = new Uint8Array(source.length);
  const { offset, edges, indegree } = outgoing(itemCount, source, target);
  if (isAcyclic(itemCount, offset, edges, target, indegree)) return turned;

  const UNSEEN = 0, OPEN = 1, DONE = 2;
  const state = new Uint8Array(itemCount);
  const next = offset.slice(0, itemCount);
  const stack: number[] = [];
  // Starting from true sources first keeps the natural direction of flow for everything they reach.
  const starts = [...indegree.keys()].sort((a, b) => Math.min(indegree[a], 1) - Math.min(indegree[b], 1) || a - b);
  for (const start of starts) {
    if (state[start] !== UNSEEN) continue;
    state[start] = OPEN;
    stack.push(start);
    while (stack.length > 0) {
      const u = stack[stack.length - 1];
      if (next[u] === offset[u + 1]) { state[u] = DONE; stack.pop(); continue; }
      const e = edges[next[u]++];
      const v = target[e];
      if (v === u) continue;
      if (state[v] === OPEN) turned[e] = 1;
      else if (state[v] === UNSEEN) { state[v] = OPEN; stack.push(v); }
    }
  }
  return turned;
}

function outgoing(itemCount: number, source: Int32Array, target: Int32Array) {
  const offset = new Uint32Array(itemCount + 1), indegree = new Uint32Array(itemCount);
  for (let e = 0; e < source.length; e++) {
    offset[source[e] + 1]++;
    if (source[e] !== target[e]) indegree[target[e]]++;
  }
  for (let i = 0; i < itemCount; i++) offset[i + 1] += offset[i];
  const edges = new Uint32Array(source.length), fill = offset.slice();
  for (let e = 0; e < source.length; e++) edges[fill[source[e]]++] = e;
  return { offset, edges, indegree };
}

function isAcyclic(
  itemCount: number, offset: Uint32Array, edges: Uint32Array, target: Int32Array, indegree: Uint32Array,
): boolean {
  const left = indegree.slice();
  const ready: number[] = [];
  for (let i = 0; i < itemCount; i++) if (left[i] === 0) ready.push(i);
  let seen = 0;
  for (; seen < ready.length; seen++) {
    const u = ready[seen];
    for (let k = offset[u]; k < offset[u + 1]; k++) {
      const v = target[edges[k]];
      if (v !== u && --left[v] === 0) ready.push(v);
    }
  }
  return seen === itemCount;
}
