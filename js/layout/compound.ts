/**
 * The engine: cuts the picture into levels (hierarchy.ts), lays each level out on its own from the innermost out -
 * a finished group is one box with fixed ports to the level around it - and puts the pieces together.
 * Levels are remembered by content: opening a group lays out that group and the levels around it, nothing else,
 * and twelve identical layers of a model cost one.
 */
import { LevelCache } from "./cache";
import { buildHierarchy, ENTRY, type Hierarchy } from "./hierarchy";
import { median, rowsBy, type LevelGraph, type LevelLayout, type Rows } from "./level";
import { layoutLevel } from "./pipeline";
import { Line } from "./routing";
import type { LayoutInput, LayoutOptions, LayoutResult } from "./types";

const CLEARLY_DEEPER = 1.25;
const DEFAULTS: Required<LayoutOptions> = { nodeGap: 24, layerGap: 36, padding: 12 };

/** A level's layout and where it sits inside its group: contents are shifted by inset, below the header. */
interface Placed {
  layout: LevelLayout;
  items: Uint32Array;
  width: number;
  height: number;
  insetX: number;
  insetY: number;
}

export class LayoutEngine {
  private readonly cache = new LevelCache();

  layout(input: LayoutInput): LayoutResult {
    checkLengths(input);
    const options = { ...DEFAULTS, ...input.options };
    const hierarchy = buildHierarchy(input);
    const { nodeCount, groupCount, home, wires, stubGroup, bottomUp } = hierarchy;
    const firstStub = nodeCount + groupCount;
    const homes = new Int32Array(firstStub + stubGroup.length);
    homes.set(home);
    homes.set(stubGroup, firstStub);
    const itemsOf = rowsBy(homes, groupCount + 1), wiresOf = rowsBy(wires.level, groupCount + 1);

    const seeds = input.seed ? new Seeds(input.seed, nodeCount, groupCount) : null;
    const local = new Uint32Array(homes.length);
    const placed: Placed[] = new Array(groupCount + 1);
    for (const level of bottomUp) {
      const items = itemsOf.items.subarray(itemsOf.offset[level], itemsOf.offset[level + 1]);
      const graph = levelGraph(input, hierarchy, items, row(wiresOf, level), local, placed, seeds);
      const layout = this.cache.get(graph, options, () => layoutLevel(graph, options));
      placed[level] = level === groupCount
        ? { layout, items, width: layout.width, height: layout.height, insetX: 0, insetY: 0 }
        : inGroup(layout, items, input.groups.headerHeight[level], input.groups.minWidth[level], options.padding);
      if (level < groupCount) seeds?.found(nodeCount + level, placed[level], local);
    }
    this.cache.tidy();
    const result = assemble(hierarchy, placed, wiresOf, local);
    return { ...result, shiftX: commonShift(result.x, input.seed?.x), shiftY: commonShift(result.y, input.seed?.y) };
  }
}

function row(rows: Rows, r: number): Uint32Array {
  return rows.items.subarray(rows.offset[r], rows.offset[r + 1]);
}

function inGroup(layout: LevelLayout, items: Uint32Array, header: number, minWidth: number, padding: number): Placed {
  const width = Math.max(minWidth, layout.width + 2 * padding);
  return { layout, items, width, height: layout.height + header + 2 * padding, insetX: (width - layout.width) / 2, insetY: header + padding };
}

/** The level as a flat graph with local numbers; `local` is filled in for the level's items. */
function levelGraph(
  input: LayoutInput, h: Hierarchy, items: Uint32Array, wireIds: Uint32Array, local: Uint32Array, placed: Placed[],
  seeds: Seeds | null,
): LevelGraph {
  const { nodeCount, groupCount, wires, stubKind } = h;
  const firstStub = nodeCount + groupCount, n = items.length, m = wireIds.length;
  const graph: LevelGraph = {
    width: new Float32Array(n), height: new Float32Array(n), kind: new Uint8Array(n),
    source: new Uint32Array(m), target: new Uint32Array(m), net: new Uint32Array(m),
    targetPort: new Uint16Array(m), sourcePort: new Uint16Array(m), mainEntry: new Uint8Array(n), mainWire: new Uint8Array(m),
    targetShift: new Float32Array(m), sourceShift: new Float32Array(m), seedX: new Float32Array(n).fill(NaN), seedY: new Float32Array(n).fill(NaN),
  };
  for (let i = 0; i < n; i++) {
    const item = items[i];
    local[item] = i;
    if (seeds && item < firstStub) { graph.seedX[i] = seeds.x[item]; graph.seedY[i] = seeds.y[item]; }
    if (item < nodeCount) {
      graph.width[i] = input.nodes.width[item];
      graph.height[i] = input.nodes.height[item];
    } else if (item < firstStub) {
      graph.width[i] = placed[item - nodeCount].width;
      graph.height[i] = placed[item - nodeCount].height;
    } else graph.kind[i] = stubKind[item - firstStub];
  }
  graph.seedX = relative(graph.seedX);
  graph.seedY = relative(graph.seedY);
  // Nets are renumbered in order of appearance, so that levels with equal contents are equal.
  const nets = new Map<number, number>();
  const shift = (group: number, stub: number): number => {
    const inside = placed[group - nodeCount];
    return inside.insetX + inside.layout.x[local[firstStub + stub]] - inside.width / 2;
  };
  for (let k = 0; k < m; k++) {
    const w = wireIds[k], s = wires.source[w], t = wires.target[w], net = wires.net[w];
    if (!nets.has(net)) nets.set(net, nets.size);
    graph.net[k] = nets.get(net)!;
    graph.source[k] = local[s];
    graph.target[k] = local[t];
    graph.targetPort[k] = wires.port[w];
    graph.sourcePort[k] = s < nodeCount && net >= nodeCount ? 1 : 0;
    graph.sourceShift[k] = wires.sourceStub[w] < 0 ? NaN : shift(s, wires.sourceStub[w]);
    graph.targetShift[k] = wires.targetStub[w] < 0 ? NaN : shift(t, wires.targetStub[w]);
  }
  markMain(graph, h, items, wireIds);
  return graph;
}

/** A wire or an entry is the main one if what it brings is clearly deeper in the whole graph than all it arrives with. */
function markMain(graph: LevelGraph, h: Hierarchy, items: Uint32Array, wireIds: Uint32Array): void {
  const { wires, depthOfNet, nodeCount, groupCount, stubNet } = h;
  const clearly = (list: number[], depth: (i: number) => number): number => {
    let best = -1, second = 0;
    for (const i of list) {
      if (best < 0) best = i;
      else if (depth(i) > depth(best)) { second = depth(best); best = i; } else second = Math.max(second, depth(i));
    }
    return best >= 0 && depth(best) > CLEARLY_DEEPER * second + 2 ? best : -1;
  };
  const into = rowsBy(graph.target, graph.kind.length);
  for (let i = 0; i < graph.kind.length; i++) {
    const best = clearly([...row(into, i)], (k) => depthOfNet(wires.net[wireIds[k]]));
    if (best >= 0) graph.mainWire[best] = 1;
  }
  const entries = [...items.keys()].filter((i) => graph.kind[i] === ENTRY);
  const best = clearly(entries, (i) => depthOfNet(stubNet[items[i] - nodeCount - groupCount]));
  if (best >= 0) graph.mainEntry[best] = 1;
}

/** Seeds count only up to a translation: a layer that moved as a whole is the same layer. */
function relative(seed: Float32Array): Float32Array {
  const origin = seed.find((x) => !Number.isNaN(x));
  return origin === undefined ? seed : seed.map((x) => Math.round(16 * (x - origin)) / 16);
}

/** Previous centres. A group's is where most of its members would be back in their places. */
class Seeds {
  readonly x: Float32Array;
  readonly y: Float32Array;

  constructor(seed: NonNullable<LayoutInput["seed"]>, nodeCount: number, groupCount: number) {
    this.x = new Float32Array(nodeCount + groupCount).fill(NaN);
    this.y = new Float32Array(nodeCount + groupCount).fill(NaN);
    this.x.set(seed.x);
    this.y.set(seed.y);
  }

  found(group: number, { items, layout, insetX, insetY, width, height }: Placed, local: Uint32Array): void {
    const x: number[] = [], y: number[] = [];
    for (const item of items) {
      if (item >= this.x.length || Number.isNaN(this.x[item]) || Number.isNaN(this.y[item])) continue;
      x.push(this.x[item] - insetX - layout.x[local[item]]);
      y.push(this.y[item] - insetY - layout.y[local[item]]);
    }
    if (x.length === 0) return;
    this.x[group] = median(x) + width / 2;
    this.y[group] = median(y) + height / 2;
  }
}

/** Walks from the top level inwards, giving every level its origin, then strings the wires of each edge together. */
function assemble(h: Hierarchy, placed: Placed[], wiresOf: Rows, local: Uint32Array): Omit<LayoutResult, "shiftX" | "shiftY"> {
  const { nodeCount, groupCount, bottomUp, wires, path, pathOffset, reversed } = h;
  const x = new Float32Array(nodeCount), y = new Float32Array(nodeCount), groupBox = new Float32Array(4 * groupCount);
  const originX = new Float64Array(groupCount + 1), originY = new Float64Array(groupCount + 1);
  for (let i = groupCount; i >= 0; i--) {
    const level = bottomUp[i], { layout, items } = placed[level];
    for (const item of items) {
      if (item >= nodeCount + groupCount) continue;
      const cx = originX[level] + layout.x[local[item]], cy = originY[level] + layout.y[local[item]];
      if (item < nodeCount) { x[item] = cx; y[item] = cy; continue; }
      const g = item - nodeCount, box = placed[g];
      groupBox.set([cx - box.width / 2, cy - box.height / 2, box.width, box.height], 4 * g);
      originX[g] = groupBox[4 * g] + box.insetX;
      originY[g] = groupBox[4 * g + 1] + box.insetY;
    }
  }
  const localWire = new Uint32Array(wires.level.length);
  for (let level = 0; level <= groupCount; level++) row(wiresOf, level).forEach((w, k) => { localWire[w] = k; });

  const edgeCount = pathOffset.length - 1;
  const edgeOffset = new Uint32Array(edgeCount + 1);
  const points: number[] = [];
  for (let e = 0; e < edgeCount; e++) {
    const first = points.length, line = new Line(points);
    for (let k = pathOffset[e]; k < pathOffset[e + 1]; k++) {
      const w = path[k], level = wires.level[w], { points: local, offset } = placed[level].layout;
      for (let p = offset[localWire[w]]; p < offset[localWire[w] + 1]; p++)
        line.to(originX[level] + local[2 * p], originY[level] + local[2 * p + 1]);
    }
    if (reversed[e]) turnRound(points, first);
    edgeOffset[e + 1] = points.length / 2;
  }
  const { width, height } = placed[groupCount];
  return { x, y, groupBox, edgePoints: Float32Array.from(points), edgeOffset, width, height };
}

function commonShift(at: Float32Array, seed: Float32Array | undefined): number {
  const shifts: number[] = [];
  if (seed) for (let n = 0; n < at.length; n++) if (!Number.isNaN(seed[n])) shifts.push(at[n] - seed[n]);
  return shifts.length === 0 ? 0 : median(shifts);
}

function turnRound(points: number[], first: number): void {
  for (let i = first, j = points.length - 2; i < j; i += 2, j -= 2) {
    const px = points[i], py = points[i + 1];
    points[i] = points[j]; points[i + 1] = points[j + 1];
    points[j] = px; points[j + 1] = py;
  }
}

function checkLengths({ nodes, edges, groups, seed }: LayoutInput): void {
  const same = (what: string, arrays: ArrayLike<number>[]): void => {
    if (arrays.some((a) => a.length !== arrays[0].length)) throw new RangeError(`layout: columns of ${what} differ in length`);
  };
  same("nodes", [nodes.width, nodes.height, nodes.group, ...(seed ? [seed.x, seed.y] : [])]);
  same("edges", [edges.source, edges.target, edges.port]);
  same("groups", [groups.parent, groups.headerHeight, groups.minWidth]);
}

/** Synchronous and deterministic; keeps nothing between calls. */
export function layout(input: LayoutInput): LayoutResult {
  return new LayoutEngine().layout(input);
}
