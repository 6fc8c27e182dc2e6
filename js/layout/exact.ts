/** The sideways problem as a network: for levels that the simplex is quick for. */

import { type Row } from "./row.ts";
import { ArcList, NetworkSimplex } from "./simplex.ts";

const BUDGET = 10_000_000;
const FAR = 1e6;

/** The optimum by network simplex: a node per pull turns |x - y| into two arcs (Gansner et al., section 4.2). */
export function solveExactly(row: Row): void {
  const { count, a, b, da, db } = row;
  const anchored: { block: number; node: number; at: number; weight: number }[] = [];
  for (let i = 0; i < count; i++)
    if (!Number.isNaN(row.anchor[i]))
      anchored.push({
        block: i,
        node: count + a.length + anchored.length,
        at: row.anchor[i],
        weight: row.anchorWeight[i],
      });
  const root = count + a.length + anchored.length;
  const arcs = new ArcList();
  const position = new Float64Array(root + 1);
  position.set(row.x);
  for (let c = 0; c < row.left.length; c++) arcs.add(row.left[c], row.right[c], row.least[c], 0);
  for (let p = 0; p < a.length; p++) {
    const la = Math.max(0, db[p] - da[p]),
      lb = Math.max(0, da[p] - db[p]);
    arcs.add(count + p, a[p], la, row.weight[p]);
    arcs.add(count + p, b[p], lb, row.weight[p]);
    position[count + p] = Math.min(row.x[a[p]] - la, row.x[b[p]] - lb);
  }
  for (const { block, node, at, weight: pull } of anchored) {
    const la = Math.max(0, -at),
      lb = Math.max(0, at);
    arcs.add(node, root, la, pull);
    arcs.add(node, block, lb, pull);
    position[node] = Math.min(-la, row.x[block] - lb);
  }
  // The root stands still at 0 for the anchors; otherwise it joins only nodes without another edge, and without a pull.
  for (let i = 0; i < count; i++) if (row.leftOf.offset[i] === row.leftOf.offset[i + 1]) arcs.add(root, i, -FAR, 0);
  new NetworkSimplex(arcs, position).solve(BUDGET);
  row.x.set(position.subarray(0, count));
}
