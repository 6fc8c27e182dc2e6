/**
 * Where wires touch free boxes. An output leaves at the middle; inputs enter in argument order, each as straight
 * below its wire's last bend as order and spacing allow: isotonic regression with least distances, solved by
 * pooling adjacent violators.
 */
import { type LevelGraph, rowsBy } from "./level.ts";

const PORT_GAP = 12;
const CORNER = 8;

/** x of every wire's upper end. */
export function sourcePoints(graph: LevelGraph, x: ArrayLike<number>): Float64Array {
  const at = new Float64Array(graph.source.length);
  const turned = new Map<number, Set<number>>();
  for (let w = 0; w < at.length; w++) {
    const s = graph.source[w];
    if (!Number.isNaN(graph.sourceShift[w])) {
      at[w] = x[s] + graph.sourceShift[w];
      continue;
    }
    at[w] = x[s];
    if (graph.sourcePort[w] === 0) continue;
    // A turned-round edge is another tensor than the box's output: it leaves beside it.
    const nets = turned.get(s) ?? new Set();
    turned.set(s, nets.add(graph.net[w]));
    at[w] += Math.min(PORT_GAP * nets.size, Math.max(0, graph.width[s] / 2 - CORNER));
  }
  return at;
}

/** x of every wire's lower end, given the x it comes from. */
export function targetPoints(graph: LevelGraph, x: ArrayLike<number>, from: Float64Array): Float64Array {
  const at = new Float64Array(graph.target.length);
  const rows = rowsBy(graph.target, graph.kind.length);
  for (let v = 0; v < graph.kind.length; v++) {
    const wires = rows.items.subarray(rows.offset[v], rows.offset[v + 1]);
    if (wires.length === 0) continue;
    if (!Number.isNaN(graph.targetShift[wires[0]]) || graph.kind[v] !== 0) {
      for (const w of wires) at[w] = x[v] + (graph.targetShift[w] || 0);
      continue;
    }
    wires.sort((a, b) => graph.targetPort[a] - graph.targetPort[b] || from[a] - from[b] || a - b);
    // Arrows gather near the middle however wide the box is.
    const half = Math.max(0, Math.min(graph.width[v] / 2 - CORNER, PORT_GAP * (wires.length + 1)));
    const gap = wires.length > 1 ? Math.min(PORT_GAP, (2 * half) / (wires.length - 1)) : 0;
    const place = spread(
      Float64Array.from(wires, (w) => from[w] - x[v]),
      gap,
      half,
    );
    for (let i = 0; i < wires.length; i++) at[wires[i]] = x[v] + place[i];
  }
  return at;
}

/** The places nearest to the wanted ones that are in order, at least `gap` apart and within [-half, half]. */
export function spread(wanted: Float64Array, gap: number, half: number): Float64Array {
  const n = wanted.length;
  const pools: { sum: number; size: number }[] = [];
  for (let i = 0; i < n; i++) {
    const clamped = Math.max(-half + i * gap, Math.min(half - (n - 1 - i) * gap, wanted[i]));
    let pool = { sum: clamped - i * gap, size: 1 };
    for (
      let last = pools[pools.length - 1];
      last && last.sum / last.size > pool.sum / pool.size;
      last = pools[pools.length - 1]
    ) {
      pools.pop();
      pool = { sum: last.sum + pool.sum, size: last.size + pool.size };
    }
    pools.push(pool);
  }
  const out = new Float64Array(n);
  let i = 0;
  for (const { sum, size } of pools) for (let k = 0; k < size; k++, i++) out[i] = sum / size + i * gap;
  return out;
}
