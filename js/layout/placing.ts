/**
 * x coordinates: minimises the weighted sideways length of all segments, a linear programme that Gansner et al.
 * (1993) solve with network simplex (exact.ts). Where a level is too large for that, two monotone moves come close
 * in near-linear time: a block goes to the weighted median of its neighbours as far as there is room (medians.ts), and
 * a block that is held up takes the row that holds it along (shoving.ts).
 */
import { alignBlocks, type PathLengths, pathLengths, segmentRoles } from "./blocks.ts";
import { compact, leftToRight } from "./compaction.ts";
import { solveExactly } from "./exact.ts";
import { type LevelGraph, type Spacing } from "./level.ts";
import { medianSweep } from "./medians.ts";
import { type Order } from "./order.ts";
import { makeRow, moveAnchorsTo } from "./row.ts";
import { shove } from "./shoving.ts";
import { type Strata } from "./strata.ts";

const SWEEPS = 10;
/** Variables and pulls that the simplex is still quick for. */
const EXACT_LIMIT = 40_000;
/** Vertices and segments of a level whose chains may be loosened, and how wide rigid ones must make it first. */
const LOOSE_LIMIT = 16_000;
const WIDE = 1.6;

export function placeVertices(graph: LevelGraph, strata: Strata, order: Order, spacing: Spacing): Float64Array {
  const role = segmentRoles(graph, strata);
  const lengths = pathLengths(graph, strata, order);
  const small = strata.count + strata.source.length < LOOSE_LIMIT;
  let plan = prepare(graph, strata, order, spacing, role, lengths, true);
  // Rigid chains lean on each other: in a dense graph they make a wide staircase. There, links only pull.
  if (small && plan.width > WIDE * widestLayer(strata, order, spacing))
    plan = prepare(graph, strata, order, spacing, role, lengths, false);
  const { row, blocks, sequence } = plan;
  const exact = row.count + 2 * row.a.length < EXACT_LIMIT;
  const sweeps = exact
    ? 3
    : Math.max(3, Math.min(SWEEPS, Math.floor(2_000_000 / (1 + row.a.length + row.left.length))));
  for (let i = 0; i < sweeps; i++) if (!medianSweep(row, sequence)) break;
  if (exact) solveExactly(row);
  else if (shove(row, sequence)) medianSweep(row, sequence);
  const x = new Float64Array(strata.count);
  for (let v = 0; v < strata.count; v++) x[v] = row.x[blocks.of[v]] + blocks.shift[v];
  return x;
}

function prepare(
  graph: LevelGraph,
  strata: Strata,
  order: Order,
  spacing: Spacing,
  role: Uint8Array,
  lengths: PathLengths,
  rigid: boolean,
) {
  const blocks = alignBlocks(graph, strata, order, role, lengths, rigid);
  const row = makeRow(graph, strata, order, spacing, role, lengths, blocks);
  const sequence = leftToRight(row);
  const width = compact(row, sequence);
  moveAnchorsTo(row);
  return { blocks, row, sequence, width };
}

/** No picture can be narrower than this. */
function widestLayer(strata: Strata, order: Order, spacing: Spacing): number {
  let widest = 0;
  for (let l = 0; l < strata.layerCount; l++) {
    let width = 0;
    for (let i = order.start[l]; i < order.start[l + 1]; i++) width += strata.width[order.vertex[i]] + spacing.nodeGap;
    widest = Math.max(widest, width);
  }
  return widest;
}
