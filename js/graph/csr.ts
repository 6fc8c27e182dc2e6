/** Compressed rows: the members of row i are items[offset[i]] .. items[offset[i + 1] - 1]. */
export interface Rows {
  offset: Uint32Array;
  items: Uint32Array;
}

/** Groups 0..keys.length-1 by key, in one pass and stably (counting sort). */
export function rowsBy(keys: ArrayLike<number>, rowCount: number): Rows {
  const offset = new Uint32Array(rowCount + 1);
  for (let i = 0; i < keys.length; i++) offset[keys[i] + 1]++;
  for (let r = 0; r < rowCount; r++) offset[r + 1] += offset[r];
  const fill = offset.slice();
  const items = new Uint32Array(keys.length);
  for (let i = 0; i < keys.length; i++) items[fill[keys[i]]++] = i;
  return { offset, items };
}

/** The members of row r, without copying. */
export function row(rows: Rows, r: number): Uint32Array {
  return rows.items.subarray(rows.offset[r], rows.offset[r + 1]);
}

/** 0, 1 .. count - 1. */
export function numbersTo(count: number): Int32Array {
  return new Int32Array(count).map((_, i) => i);
}

/** Adds to a key's list. */
export function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** Kahn's order: each vertex after those with an edge to it, among ready ones the lowest first; without those on a cycle or after one. */
export function topological(
  source: ArrayLike<number>,
  target: ArrayLike<number>,
  count: number,
  skip?: Uint8Array,
  out = rowsBy(source, count),
): Uint32Array {
  const waiting = new Uint32Array(count);
  for (let e = 0; e < target.length; e++) if (!skip?.[e]) waiting[target[e]]++;
  const order = new Uint32Array(count);
  let filled = 0;
  for (let v = 0; v < count; v++) if (waiting[v] === 0) order[filled++] = v;
  for (let done = 0; done < filled; done++)
    for (let k = out.offset[order[done]]; k < out.offset[order[done] + 1]; k++) {
      const e = out.items[k];
      if (!skip?.[e] && --waiting[target[e]] === 0) order[filled++] = target[e];
    }
  return order.subarray(0, filled);
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
  out?: Rows,
): Uint8Array {
  const weak = new Uint8Array(source.length);
  let ascends = true;
  for (let e = 0; ascends && e < source.length; e++) ascends = source[e] < target[e];
  if (ascends) return weak;
  for (let round = 0; round < 2; round++) {
    const order = topological(source, target, count, weak, out);
    if (order.length === count) return weak;
    const left = new Uint8Array(count).fill(1);
    for (const v of order) left[v] = 0;
    for (let e = 0; e < source.length; e++) {
      if (left[source[e]] && left[target[e]] && (round > 0 ? source[e] >= target[e] : droppable(e))) weak[e] = 1;
    }
  }
  return weak;
}
