/** Takes one level out of the hierarchy as a flat graph: finished groups become boxes with fixed ports. */
import { ENTRY, type Hierarchy } from "./hierarchy";
import { median, row, rowsBy, type LevelGraph, type LevelLayout } from "./level";
import type { LayoutInput } from "./types";

const CLEARLY_DEEPER = 1.25;
/** Less than this is not worth a second look. */
const SLIGHT = 1;

/** A level's layout and where it sits inside its group: contents are shifted by inset, below the header. */
export interface Placed {
  layout: LevelLayout;
  items: Uint32Array;
  width: number;
  height: number;
  insetX: number;
  insetY: number;
  foot: number;
}

/** The level as a flat graph with local numbers; `local` is filled in for the level's items. */
export function levelGraph(
  input: LayoutInput, h: Hierarchy, items: Uint32Array, wireIds: Uint32Array, local: Uint32Array, placed: Placed[],
  seeds: Seeds | null,
): LevelGraph {
  const { nodeCount, groupCount, wires, stubKind } = h;
  const firstStub = nodeCount + groupCount, n = items.length, m = wireIds.length;
  const graph: LevelGraph = {
    width: new Float32Array(n), height: new Float32Array(n), head: new Float32Array(n), foot: new Float32Array(n), give: new Float32Array(n), kind: new Uint8Array(n),
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
      graph.head[i] = placed[item - nodeCount].insetY;
      graph.foot[i] = placed[item - nodeCount].foot;
      if (seeds?.mayGive) graph.give[i] = placed[item - nodeCount].layout.give;
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
export class Seeds {
  readonly x: Float32Array;
  readonly y: Float32Array;

  /** Whether groups may still be squeezed. */
  mayGive = true;

  constructor(seed: NonNullable<LayoutInput["seed"]>, private readonly nodeCount: number, groupCount: number) {
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

  /**
   * Groups that what is above them pushes down, while there is room in them: their contents are wanted no higher than that
   * leaves, so that nothing below has to move. Whether there is any such group.
   */
  squeeze(h: Hierarchy, placed: Placed[], input: LayoutInput): boolean {
    const { nodeCount } = this, ceiling = new Float64Array(h.groupCount + 1).fill(-Infinity);
    let any = false;
    for (let k = h.groupCount; k >= 0; k--) {
      const level = h.bottomUp[k], { items, layout } = placed[level];
      if (level < h.groupCount) ceiling[level] = Math.max(ceiling[level], ceiling[h.home[nodeCount + level]]);
      items.forEach((item, i) => {
        const g = item - nodeCount;
        if (g < 0 || g >= h.groupCount || !(layout.squeeze[i] > SLIGHT)) return;
        any = true;
        ceiling[g] = this.y[item] - placed[g].height / 2 + placed[g].insetY + layout.squeeze[i];
      });
    }
    for (let n = 0; n < nodeCount; n++) this.y[n] = Math.max(this.y[n], ceiling[h.home[n]] + input.nodes.height[n] / 2);
    this.mayGive = false;
    return any;
  }
}
