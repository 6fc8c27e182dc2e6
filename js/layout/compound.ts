/**
 * The engine: cuts the picture into levels (hierarchy.ts), lays each level out on its own from the innermost out -
 * a finished group is one box with fixed ports to the level around it - and puts the pieces together.
 * Levels are remembered by content: opening a group lays out that group and the levels around it, nothing else,
 * and twelve identical layers of a model cost one.
 */

import { type Rows, row, rowsBy } from "../graph/csr.ts";
import { buildHierarchy, type Hierarchy } from "./hierarchy.ts";
import { type LevelLayout, type Placed, type Spacing, sizeOnGrid } from "./level.ts";
import { LevelCache, LevelReader, levelOf, settledKey, withoutGive } from "./levels.ts";
import { layoutLevel } from "./pipeline.ts";
import { Lines } from "./routing.ts";
import { Seeds } from "./seeds.ts";
import { type LayoutInput, type LayoutOptions, type LayoutResult } from "./types.ts";

const DEFAULTS: Required<LayoutOptions> = { nodeGap: 24, layerGap: 36, padding: 12, verticalPadding: 8 };

export class LayoutEngine {
  private readonly asked = new LevelCache();
  /** By the places that a layout gave: asked for with those, the same layout is the answer. */
  private readonly settled = new LevelCache();

  layout(input: LayoutInput): LayoutResult {
    checkLengths(input);
    const options = { ...DEFAULTS, ...input.options };
    const hierarchy = buildHierarchy(input);
    const { nodeCount, groupCount, home, wires, stubGroup, bottomUp } = hierarchy;
    const firstStub = nodeCount + groupCount;
    const homes = new Int32Array(firstStub + stubGroup.length);
    homes.set(home);
    homes.set(stubGroup, firstStub);
    const itemsOf = rowsBy(homes, groupCount + 1),
      wiresOf = rowsBy(wires.level, groupCount + 1);

    const seeds = input.seed ? new Seeds(input.seed, nodeCount, groupCount) : null;
    const placed: Placed[] = new Array(groupCount + 1),
      reader = new LevelReader(input, hierarchy, placed);
    const place = (level: number): void => {
      const items = row(itemsOf, level),
        key = reader.read(items, row(wiresOf, level), seeds, options);
      const layout = this.asked.find(key) ?? this.arrange(key.slice(), options);
      placed[level] =
        level === groupCount
          ? { layout, items, width: layout.width, height: layout.height, insetX: 0, insetY: 0, foot: 0 }
          : inGroup(layout, items, input.groups.headerHeight[level], input.groups.minWidth[level], options);
      if (level < groupCount) seeds?.found(nodeCount + level, placed[level], reader.local);
    };
    for (const level of bottomUp) place(level);
    const again = seeds?.squeeze(hierarchy, placed, input);
    if (again) for (const level of bottomUp) if (again[level]) place(level);
    this.asked.tidy();
    this.settled.tidy();
    return assemble(hierarchy, placed, wiresOf, reader.local);
  }

  private arrange(key: Uint32Array, spacing: Spacing): LevelLayout {
    const known = this.settled.find(withoutGive(key)),
      graph = levelOf(key),
      layout = known ?? layoutLevel(graph, spacing);
    this.asked.put(key, layout);
    // Without a previous picture a level is not asked how far it can give way.
    const seeded = graph.seedY.some((y) => !Number.isNaN(y));
    if (!known && seeded && layout.squeeze.every((by) => by === 0)) this.settled.put(settledKey(key, layout), layout);
    return layout;
  }
}

function inGroup(
  layout: LevelLayout,
  items: Uint32Array,
  header: number,
  minWidth: number,
  { padding, verticalPadding }: Required<LayoutOptions>,
): Placed {
  const width = sizeOnGrid(Math.max(minWidth, layout.width + 2 * padding));
  return {
    layout,
    items,
    width,
    height: sizeOnGrid(layout.height + header + 2 * verticalPadding),
    insetX: (width - layout.width) / 2,
    insetY: header + verticalPadding,
    foot: verticalPadding,
  };
}

/** Walks from the top level inwards, giving every level its origin, then strings the wires of each edge together. */
function assemble(h: Hierarchy, placed: Placed[], wiresOf: Rows, local: Uint32Array): LayoutResult {
  const { nodeCount, groupCount, bottomUp, wires, path, pathStart, pathEnd, reversed } = h;
  const x = new Float32Array(nodeCount),
    y = new Float32Array(nodeCount),
    groupBox = new Float32Array(4 * groupCount);
  const originX = new Float64Array(groupCount + 1),
    originY = new Float64Array(groupCount + 1);
  for (let i = groupCount; i >= 0; i--) {
    const level = bottomUp[i],
      { layout, items } = placed[level];
    for (const item of items) {
      if (item >= nodeCount + groupCount) continue;
      const cx = originX[level] + layout.x[local[item]],
        cy = originY[level] + layout.y[local[item]];
      if (item < nodeCount) {
        x[item] = cx;
        y[item] = cy;
        continue;
      }
      const g = item - nodeCount,
        box = placed[g];
      groupBox[4 * g] = cx - box.width / 2;
      groupBox[4 * g + 1] = cy - box.height / 2;
      groupBox[4 * g + 2] = box.width;
      groupBox[4 * g + 3] = box.height;
      originX[g] = groupBox[4 * g] + box.insetX;
      originY[g] = groupBox[4 * g + 1] + box.insetY;
    }
  }
  const localWire = new Uint32Array(wires.level.length);
  for (let level = 0; level <= groupCount; level++)
    for (let k = wiresOf.offset[level]; k < wiresOf.offset[level + 1]; k++)
      localWire[wiresOf.items[k]] = k - wiresOf.offset[level];

  const edgeCount = reversed.length;
  const edgeOffset = new Uint32Array(edgeCount + 1);
  const line = new Lines();
  for (let e = 0; e < edgeCount; e++) {
    line.begin();
    for (let k = pathStart[e]; k < pathEnd[e]; k++) {
      const w = path[k],
        level = wires.level[w],
        { points, offset } = placed[level].layout;
      for (let p = offset[localWire[w]]; p < offset[localWire[w] + 1]; p++)
        line.to(originX[level] + points[2 * p], originY[level] + points[2 * p + 1]);
    }
    if (reversed[e]) line.turnRound();
    edgeOffset[e + 1] = line.size / 2;
  }
  const { width, height } = placed[groupCount];
  return { x, y, groupBox, edgePoints: line.points(), edgeOffset, width, height };
}

function checkLengths({ nodes, edges, groups, seed }: LayoutInput): void {
  const same = (what: string, arrays: ArrayLike<number>[]): void => {
    if (arrays.some((a) => a.length !== arrays[0].length))
      throw new RangeError(`layout: columns of ${what} differ in length`);
  };
  same("nodes", [nodes.width, nodes.height, nodes.group, ...(seed ? [seed.x, seed.y] : [])]);
  same("edges", [edges.source, edges.target, edges.port]);
  for (const sizes of [nodes.width, nodes.height])
    for (let n = 0; n < sizes.length; n++)
      if (!(sizes[n] >= 0 && sizes[n] < Infinity))
        throw new RangeError(`layout: node ${n} has no proper size (${sizes[n]})`);
  same("groups", [groups.parent, groups.headerHeight, groups.minWidth]);
}

/** Synchronous and deterministic; keeps nothing between calls. */
export function layout(input: LayoutInput): LayoutResult {
  return new LayoutEngine().layout(input);
}
