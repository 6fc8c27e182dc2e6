/** Adjacency as two flat arrays: the edges of node v are list[offset[v] .. offset[v + 1]). */
export interface Adjacency {
  offset: Uint32Array;
  list: Uint32Array;
}

/** Groups the numbers 0 .. keys.length by key (a counting sort, so that the order within a key is kept). */
export function adjacency(keys: ArrayLike<number>, count: number): Adjacency {
  const offset = new Uint32Array(count + 1);
  for (let e = 0; e < keys.length; e++) offset[keys[e] + 1]++;
  for (let v = 0; v < count; v++) offset[v + 1] += offset[v];
  const list = new Uint32Array(keys.length);
  const next = offset.slice(0, count);
  for (let e = 0; e < keys.length; e++) list[next[keys[e]]++] = e;
  return { offset, list };
}

/**
 * Edges that would close a cycle if the others are kept: all edges for which `droppable` holds and that lie
 * wholly in what Kahn's algorithm can't order. Two graphs laid over each other can disagree on an order.
 */
export function cyclic(
  source: ArrayLike<number>,
  target: ArrayLike<number>,
  count: number,
  droppable: (e: number) => boolean,
): Uint8Array {
  const weak = new Uint8Array(source.length);
  for (let round = 0; round < 2; round++) {
    const left = unordered(source, target, count, weak);
    if (left === null) return weak;
    for (let e = 0; e < source.length; e++) {
      if (left[source[e]] && left[target[e]] && (round > 0 ? source[e] >= target[e] : droppable(e))) weak[e] = 1;
    }
  }
  return weak;
}

function unordered(
  source: ArrayLike<number>,
  target: ArrayLike<number>,
  count: number,
  skip: Uint8Array,
): Uint8Array | null {
  const waiting = new Uint32Array(count);
  for (let e = 0; e < source.length; e++) if (!skip[e]) waiting[target[e]]++;
  const out = adjacency(source, count);
  const queue = new Uint32Array(count);
  let head = 0;
  let tail = 0;
  for (let v = 0; v < count; v++) if (waiting[v] === 0) queue[tail++] = v;
  while (head < tail) {
    const v = queue[head++];
    for (let i = out.offset[v]; i < out.offset[v + 1]; i++) {
      const e = out.list[i];
      if (!skip[e] && --waiting[target[e]] === 0) queue[tail++] = target[e];
    }
  }
  if (tail === count) return null;
  const left = new Uint8Array(count).fill(1);
  for (let i = 0; i < tail; i++) left[queue[i]] = 0;
  return left;
}
