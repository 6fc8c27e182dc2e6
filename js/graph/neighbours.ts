/** Walks on the picture: neighbourhoods for "changed only", and the arrow keys' steps along edges. */
import { row } from "./csr.ts";
import { type Picture } from "./picture.ts";
import { type Visible } from "./visible.ts";

/** Every node within `hops` edges of a seed, in either direction; 1 where it is. */
export function neighbourhood(picture: Picture, seeds: Iterable<number>, hops: number): Uint8Array {
  const { source, target, nodeCount, inEdges, outEdges } = picture;
  const near = new Uint8Array(nodeCount);
  const list: number[] = [];
  for (const u of seeds) if (u >= 0 && u < nodeCount) visit(u, near, list);
  for (let hop = 0, head = 0; hop < hops; hop++)
    for (const end = list.length; head < end; head++) {
      for (const e of row(inEdges, list[head])) visit(source[e], near, list);
      for (const e of row(outEdges, list[head])) visit(target[e], near, list);
    }
  return near;
}

function visit(u: number, near: Uint8Array, next: number[]): void {
  if (near[u]) return;
  near[u] = 1;
  next.push(u);
}

/** Everything that some nodes are computed from ("up"), or everything computed from them ("down"), themselves included. */
export function stream(picture: Picture, seeds: readonly number[], way: "up" | "down", sides = 3): number[] {
  const [edges, far] = way === "down" ? [picture.outEdges, picture.target] : [picture.inEdges, picture.source];
  const found = new Uint8Array(picture.nodeCount);
  const list: number[] = [];
  for (const u of seeds) visit(u, found, list);
  for (let head = 0; head < list.length; head++) {
    for (const e of row(edges, list[head])) if (picture.edgeSide[e] & sides) visit(far[e], found, list);
  }
  return list;
}

/** Every node on any path from one of some nodes to another of them. */
export function between(picture: Picture, ends: readonly number[], sides = 3): number[] {
  const on = new Set<number>();
  for (const from of ends) {
    const below = new Set(stream(picture, [from], "down", sides));
    for (const to of ends) {
      if (to === from || !below.has(to)) continue;
      for (const u of stream(picture, [to], "up", sides)) if (below.has(u)) on.add(u);
    }
  }
  return [...on].sort((a, b) => a - b);
}

/** Nodes with a mark on either side. */
export function changedNodes(picture: Picture): number[] {
  const out: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++) if (picture.mark[0][u] !== 0 || picture.mark[1][u] !== 0) out.push(u);
  return out;
}

export type Arrow = "up" | "down" | "left" | "right";

/**
 * The item an arrow key leads to. Up and down follow edges, straightest first; left and right go to the nearest
 * neighbour of the same height. -1 where there is none. Only items of the wanted sides count.
 */
export function step(
  scene: Visible,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  item: number,
  arrow: Arrow,
  sides = 3,
): number {
  if (item < 0) return first(scene, y, sides);
  return arrow === "up" || arrow === "down"
    ? along(scene, x, item, arrow, sides)
    : beside(scene, x, y, item, arrow, sides);
}

function first(scene: Visible, y: ArrayLike<number>, sides: number): number {
  let best = -1;
  for (let i = 0; i < scene.count; i++) if (scene.side[i] & sides && (best < 0 || y[i] < y[best])) best = i;
  return best;
}

function along(scene: Visible, x: ArrayLike<number>, item: number, arrow: Arrow, sides: number): number {
  const [near, far] = arrow === "down" ? [scene.source, scene.target] : [scene.target, scene.source];
  let best = -1;
  for (let e = 0; e < scene.edgeCount; e++) {
    if (near[e] !== item || !(scene.edgeSide[e] & sides)) continue;
    if (best < 0 || Math.abs(x[far[e]] - x[item]) < Math.abs(x[best] - x[item])) best = far[e];
  }
  return best;
}

function beside(
  scene: Visible,
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  item: number,
  arrow: Arrow,
  sides: number,
): number {
  let best = -1;
  let bestCost = Infinity;
  for (let i = 0; i < scene.count; i++) {
    const dx = arrow === "right" ? x[i] - x[item] : x[item] - x[i];
    if (i === item || dx <= 1 || !(scene.side[i] & sides)) continue;
    // A step to the side must not become a jump down the graph, so height weighs more.
    const cost = dx + 4 * Math.abs(y[i] - y[item]);
    if (cost < bestCost) {
      bestCost = cost;
      best = i;
    }
  }
  return bestCost < 2000 ? best : -1;
}
