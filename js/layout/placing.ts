/**
 * x coordinates: minimises the weighted sideways length of all segments, a linear programme that Gansner et al.
 * (1993) solve with network simplex. Where a level is too large for that, two monotone moves come close
 * in near-linear time: a block goes to the weighted median of its neighbours as far as there is room, and
 * a block that is held up takes the row that holds it along.
 */
import { topological } from "../graph/csr.ts";
import { alignBlocks, describe, type Ordered } from "./blocks.ts";
import { type LevelGraph, type Spacing } from "./level.ts";
import { type Order } from "./order.ts";
import { makeRow, moveAnchorsTo, type Row } from "./row.ts";
import { ArcList, NetworkSimplex } from "./simplex.ts";
import { type Strata } from "./strata.ts";

const SWEEPS = 10;
/** Variables and pulls that the simplex is still quick for. */
const EXACT_LIMIT = 40_000;
/** Vertices and segments of a level whose chains may be loosened, and how wide rigid ones must make it first. */
const LOOSE_LIMIT = 16_000;
const WIDE = 1.6;

export function placeVertices(graph: LevelGraph, strata: Strata, order: Order, spacing: Spacing): Float64Array {
  const ordered = describe(graph, strata, order, spacing);
  const small = strata.count + strata.source.length < LOOSE_LIMIT;
  let plan = prepare(ordered, true);
  // Rigid chains lean on each other: in a dense graph they make a wide staircase. There, links only pull.
  if (small && plan.width > WIDE * widestLayer(ordered)) plan = prepare(ordered, false);
  const { row, blocks, sequence } = plan;
  const exact = row.count + row.end.length < EXACT_LIMIT;
  const sweeps = exact
    ? 3
    : Math.max(3, Math.min(SWEEPS, Math.floor(2_000_000 / (1 + row.weight.length + row.left.length))));
  for (let i = 0; i < sweeps; i++) if (!medianSweep(row, sequence)) break;
  if (exact) solveExactly(row, SIMPLEX_BUDGET / 2 ** graph.haste);
  else if (shove(row, sequence)) medianSweep(row, sequence);
  const x = new Float64Array(strata.count);
  for (let v = 0; v < strata.count; v++) x[v] = row.x[blocks.of[v]] + blocks.shift[v];
  return x;
}

function prepare(ordered: Ordered, rigid: boolean) {
  const blocks = alignBlocks(ordered, rigid);
  const row = makeRow(ordered, blocks);
  // Every block after all blocks left of it. Links do not cross, so the relation has no cycle.
  const sequence = topological(row.left, row.right, row.count, undefined, row.rightOf);
  const width = compact(row, sequence);
  moveAnchorsTo(row);
  return { blocks, row, sequence, width };
}

/** No picture can be narrower than this. */
function widestLayer({ strata, order, spacing }: Ordered): number {
  let widest = 0;
  for (let l = 0; l < strata.layerCount; l++) {
    let width = 0;
    for (let i = order.start[l]; i < order.start[l + 1]; i++) width += strata.width[order.vertex[i]] + spacing.nodeGap;
    widest = Math.max(widest, width);
  }
  return widest;
}

/** A first feasible answer: half way between packed to the left and packed to the right; the packed width. */
function compact(row: Row, sequence: Uint32Array): number {
  const { x, left, right, least, leftOf, rightOf } = row;
  let widest = 0;
  for (const b of sequence) {
    let at = 0;
    for (let k = leftOf.offset[b]; k < leftOf.offset[b + 1]; k++) {
      const c = leftOf.items[k];
      at = Math.max(at, x[left[c]] + least[c]);
    }
    x[b] = at;
    widest = Math.max(widest, at);
  }
  const far = new Float64Array(row.count);
  for (let i = row.count - 1; i >= 0; i--) {
    const b = sequence[i];
    let at = widest;
    for (let k = rightOf.offset[b]; k < rightOf.offset[b + 1]; k++) {
      const c = rightOf.items[k];
      at = Math.min(at, far[right[c]] - least[c]);
    }
    far[b] = at;
  }
  for (let b = 0; b < row.count; b++) x[b] = (x[b] + far[b]) / 2;
  return widest;
}

const stops: { at: number; weight: number }[] = [];

/** The quick descent: each block to the weighted median of what pulls it, within its room, right to left, then left to right. */
function medianSweep(row: Row, sequence: Uint32Array): boolean {
  let moved = false;
  for (let i = row.count - 1; i >= 0; i--) moved = toMedian(row, sequence[i]) || moved;
  for (let i = 0; i < row.count; i++) moved = toMedian(row, sequence[i]) || moved;
  return moved;
}

function toMedian(row: Row, b: number): boolean {
  const { x, end, at, weight, endsOf } = row;
  stops.length = 0;
  let total = 0;
  const stop = (place: number, by: number): void => {
    stops.push({ at: place, weight: by });
    total += by;
  };
  for (let k = endsOf.offset[b]; k < endsOf.offset[b + 1]; k++) {
    const own = endsOf.items[k],
      other = own ^ 1;
    stop(x[end[other]] + at[other] - at[own], weight[own >> 1]);
  }
  if (!Number.isNaN(row.anchor[b])) stop(row.anchor[b], row.anchorWeight[b]);
  if (stops.length === 0) return false;
  stops.sort((p, q) => p.at - q.at);
  let i = 0,
    passed = stops[0].weight;
  while (passed < total / 2) passed += stops[++i].weight;
  // Between two equal halves every place is as good: the middle looks best.
  const want = passed === total / 2 && i + 1 < stops.length ? (stops[i].at + stops[i + 1].at) / 2 : stops[i].at;
  let low = -Infinity,
    high = Infinity;
  for (let k = row.leftOf.offset[b]; k < row.leftOf.offset[b + 1]; k++) {
    const c = row.leftOf.items[k];
    low = Math.max(low, x[row.left[c]] + row.least[c]);
  }
  for (let k = row.rightOf.offset[b]; k < row.rightOf.offset[b + 1]; k++) {
    const c = row.rightOf.items[k];
    high = Math.min(high, x[row.right[c]] - row.least[c]);
  }
  const place = Math.max(low, Math.min(high, want));
  if (Math.abs(place - x[b]) < 0.01) return false;
  x[b] = place;
  return true;
}

const SHOVES = 400_000;
const TOUCH = 0.01;

/**
 * Moves rows of touching blocks together. A block that is held by a neighbour takes it along, and that one the
 * next, as far as the whole row gains: the step between vertices of the placement's linear programme that single
 * blocks cannot make.
 */
function shove(row: Row, sequence: Uint32Array): boolean {
  const { end, at, endsOf } = row;
  const inRow = new Uint32Array(row.count);
  const members: number[] = [];
  let stamp = 0,
    work = 0,
    any = false;

  /** The blocks that must move when b moves in this direction. */
  const collect = (b: number, direction: number): void => {
    stamp++;
    members.length = 0;
    members.push(b);
    inRow[b] = stamp;
    for (let i = 0; i < members.length; i++) {
      const rows = direction > 0 ? row.rightOf : row.leftOf;
      for (let k = rows.offset[members[i]]; k < rows.offset[members[i] + 1]; k++, work++) {
        const c = rows.items[k],
          next = direction > 0 ? row.right[c] : row.left[c];
        if (inRow[next] === stamp || row.x[row.right[c]] - row.x[row.left[c]] - row.least[c] > TOUCH) continue;
        inRow[next] = stamp;
        members.push(next);
      }
    }
  };

  /** How far the collected row can go until a segment is straight or a further block is touched; 0 if it gains nothing. */
  const step = (direction: number): number => {
    let slope = 0,
      room = Infinity;
    const feel = (lead: number, weight: number): void => {
      if (lead >= -TOUCH) slope += weight;
      else {
        slope -= weight;
        room = Math.min(room, -lead);
      }
    };
    for (const b of members) {
      const rows = direction > 0 ? row.rightOf : row.leftOf;
      for (let k = rows.offset[b]; k < rows.offset[b + 1]; k++, work++) {
        const c = rows.items[k];
        if (inRow[direction > 0 ? row.right[c] : row.left[c]] === stamp) continue;
        room = Math.min(room, row.x[row.right[c]] - row.x[row.left[c]] - row.least[c]);
      }
      for (let k = endsOf.offset[b]; k < endsOf.offset[b + 1]; k++, work++) {
        const own = endsOf.items[k],
          other = own ^ 1;
        if (inRow[end[other]] === stamp) continue;
        feel(direction * (row.x[b] + at[own] - row.x[end[other]] - at[other]), row.weight[own >> 1]);
      }
      if (!Number.isNaN(row.anchor[b])) feel(direction * (row.x[b] - row.anchor[b]), row.anchorWeight[b]);
    }
    return slope < 0 && Number.isFinite(room) && room > TOUCH ? room : 0;
  };

  for (let pass = 0, moved = true; moved && pass < 4 && work < SHOVES; pass++) {
    moved = false;
    for (let i = 0; i < row.count && work < SHOVES; i++)
      for (const direction of [1, -1])
        for (let tries = 0; tries < 20 && work < SHOVES; tries++) {
          collect(sequence[i], direction);
          const length = step(direction);
          if (length === 0) break;
          for (const b of members) row.x[b] += direction * length;
          moved = any = true;
        }
  }
  return any;
}

const SIMPLEX_BUDGET = 10_000_000;
const FAR = 1e6;

/** The optimum by network simplex: a node per pull turns |x - y| into two arcs (Gansner et al., section 4.2). */
function solveExactly(row: Row, budget: number): void {
  const { count, end, at } = row,
    pulls = row.weight.length;
  const anchored = [...row.anchor.keys()].filter((i) => !Number.isNaN(row.anchor[i]));
  const root = count + pulls + anchored.length;
  const arcs = new ArcList();
  const position = new Float64Array(root + 1);
  position.set(row.x);
  for (let c = 0; c < row.left.length; c++) arcs.add(row.left[c], row.right[c], row.least[c], 0);
  const join = (node: number, a: number, b: number, apart: number, weight: number): void => {
    const [la, lb] = [Math.max(0, -apart), Math.max(0, apart)];
    arcs.add(node, a, la, weight);
    arcs.add(node, b, lb, weight);
    position[node] = Math.min(position[a] - la, position[b] - lb);
  };
  for (let p = 0, e = 0; p < pulls; p++, e += 2) join(count + p, end[e], end[e + 1], at[e] - at[e + 1], row.weight[p]);
  for (const [k, i] of anchored.entries()) join(count + pulls + k, root, i, row.anchor[i], row.anchorWeight[i]);
  // The root stands still at 0 for the anchors; otherwise it joins only nodes without another edge, and without a pull.
  for (let i = 0; i < count; i++) if (row.leftOf.offset[i] === row.leftOf.offset[i + 1]) arcs.add(root, i, -FAR, 0);
  new NetworkSimplex(arcs, position).solve(budget);
  row.x.set(position.subarray(0, count));
}
