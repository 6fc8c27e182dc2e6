/** What every picture must obey, checked from the outside: a list of violations in words, empty when all is well. */
import { Grid } from "../../render/grid.ts";
import { median as lowerMedian } from "../level.ts";
import { type LayoutInput, type LayoutResult } from "../types.ts";

const EPSILON = 0.5;

interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export function violations(input: LayoutInput, result: LayoutResult): string[] {
  const found: string[] = [];
  const boxes = allBoxes(input, result),
    nodeCount = input.nodes.width.length;
  const parent = (i: number): number => {
    const g = i < nodeCount ? input.nodes.group[i] : input.groups.parent[i - nodeCount];
    return g < 0 ? -1 : g + nodeCount;
  };
  const name = (i: number): string => (i < nodeCount ? `node ${i}` : `group ${i - nodeCount}`);
  for (const value of [...result.x, ...result.y, ...result.groupBox, ...result.edgePoints])
    if (!Number.isFinite(value)) return ["a coordinate is not finite"];
  const inside = (a: number, b: number): boolean => {
    for (let i = a; i >= 0; i = parent(i)) if (i === b) return true;
    return false;
  };
  boxes.forEach((box, i) => {
    if (box.x0 < -EPSILON || box.y0 < -EPSILON || box.x1 > result.width + EPSILON || box.y1 > result.height + EPSILON)
      found.push(`${name(i)} is outside the picture`);
    const p = parent(i);
    if (p < 0) return;
    const outer = boxes[p],
      header = input.groups.headerHeight[p - nodeCount];
    if (box.x0 < outer.x0 + 1 || box.x1 > outer.x1 - 1 || box.y0 < outer.y0 + header || box.y1 > outer.y1 - 1)
      found.push(`${name(i)} sticks out of ${name(p)}`);
  });
  const corners = boxes.flatMap(({ x0, y0, x1, y1 }) => [x0, y0, x1, y1]);
  const grid = new Grid(Float32Array.from(corners), result.width, result.height);
  boxes.forEach((box, i) => {
    grid.query(box.x0, box.y0, box.x1, box.y1, (j) => {
      if (j <= i || !overlap(box, boxes[j]) || inside(i, j) || inside(j, i)) return;
      found.push(`${name(i)} overlaps ${name(j)}`);
    });
  });
  const { source, target } = input.edges;
  for (let e = 0; e < source.length; e++) {
    const from = result.edgeOffset[e],
      to = result.edgeOffset[e + 1],
      p = result.edgePoints;
    if (source[e] === target[e]) {
      if (from !== to) found.push(`self edge ${e} has points`);
      continue;
    }
    if (to - from < 2) {
      found.push(`edge ${e} has no line`);
      continue;
    }
    if (!onBorder(boxes[source[e]], p[2 * from], p[2 * from + 1])) found.push(`edge ${e} does not start at its source`);
    if (!onBorder(boxes[target[e]], p[2 * to - 2], p[2 * to - 1])) found.push(`edge ${e} does not end at its target`);
    const strangers = new Set<number>();
    for (let k = from; k + 1 < to; k++) {
      const segment = { x0: p[2 * k], y0: p[2 * k + 1], x1: p[2 * k + 2], y1: p[2 * k + 3] };
      const [left, right] = [segment.x0, segment.x1].sort((p, q) => p - q);
      const [top, bottom] = [segment.y0, segment.y1].sort((p, q) => p - q);
      grid.query(left, top, right, bottom, (j) => {
        if (
          !strangers.has(j) &&
          !(j >= nodeCount && (inside(source[e], j) || inside(target[e], j))) &&
          runsThrough(segment, boxes[j])
        )
          strangers.add(j);
      });
    }
    for (const j of strangers) found.push(`edge ${e} runs through ${name(j)}`);
  }
  return found;
}

/** Edges that do not go down from the source's bottom to the target's top. */
export function upwardEdges(input: LayoutInput, result: LayoutResult): number[] {
  const out: number[] = [];
  const { source, target } = input.edges,
    { height } = input.nodes;
  for (let e = 0; e < source.length; e++) {
    const s = source[e],
      t = target[e];
    let falls = result.y[s] + height[s] / 2 < result.y[t] - height[t] / 2;
    for (let k = result.edgeOffset[e]; k + 1 < result.edgeOffset[e + 1]; k++)
      falls &&= result.edgePoints[2 * k + 3] >= result.edgePoints[2 * k + 1] - EPSILON;
    if (!falls && s !== t) out.push(e);
  }
  return out;
}

/** Nodes whose inputs arrive out of argument order. */
export function portDisorder(input: LayoutInput, result: LayoutResult): number[] {
  const arrivals = new Map<number, { port: number; x: number }[]>();
  const upward = new Set(upwardEdges(input, result));
  input.edges.target.forEach((t, e) => {
    if (upward.has(e) || input.edges.source[e] === t) return;
    if (!arrivals.has(t)) arrivals.set(t, []);
    arrivals.get(t)!.push({ port: input.edges.port[e], x: result.edgePoints[2 * result.edgeOffset[e + 1] - 2] });
  });
  const out: number[] = [];
  for (const [t, list] of arrivals) {
    list.sort((a, b) => a.port - b.port);
    if (list.some((a, i) => i > 0 && a.x <= list[i - 1].x)) out.push(t);
  }
  return out;
}

function allBoxes(input: LayoutInput, result: LayoutResult): Box[] {
  const boxes: Box[] = [];
  for (let i = 0; i < result.x.length; i++) {
    const w = input.nodes.width[i] / 2,
      h = input.nodes.height[i] / 2;
    boxes.push({ x0: result.x[i] - w, x1: result.x[i] + w, y0: result.y[i] - h, y1: result.y[i] + h });
  }
  for (let g = 0; g < result.groupBox.length; g += 4) {
    const [x, y, w, h] = result.groupBox.subarray(g, g + 4);
    boxes.push({ x0: x, y0: y, x1: x + w, y1: y + h });
  }
  return boxes;
}

function overlap(a: Box, b: Box): boolean {
  return a.x0 < b.x1 - EPSILON && b.x0 < a.x1 - EPSILON && a.y0 < b.y1 - EPSILON && b.y0 < a.y1 - EPSILON;
}

function onBorder(box: Box, x: number, y: number): boolean {
  return x > box.x0 - EPSILON && x < box.x1 + EPSILON && Math.min(Math.abs(y - box.y0), Math.abs(y - box.y1)) < EPSILON;
}

/** Liang-Barsky clipping of the segment against the box shrunk by EPSILON. */
function runsThrough(s: Box, box: Box): boolean {
  let enter = 0,
    leave = 1;
  const dx = s.x1 - s.x0,
    dy = s.y1 - s.y0;
  for (const [p, q] of [
    [-dx, s.x0 - box.x0 - EPSILON],
    [dx, box.x1 - EPSILON - s.x0],
    [-dy, s.y0 - box.y0 - EPSILON],
    [dy, box.y1 - EPSILON - s.y0],
  ]) {
    if (p === 0) {
      if (q <= 0) return false;
      continue;
    }
    if (p < 0) enter = Math.max(enter, q / p);
    else leave = Math.min(leave, q / p);
  }
  return enter < leave;
}

/** How far kept nodes moved, without the common shift that the view pans by; pairs of their numbers before and after. */
export function shifts(before: LayoutResult, after: LayoutResult, kept: [number, number][]): [number, number][] {
  const apart = ({ x, y }: LayoutResult, { x: x0, y: y0 }: LayoutResult) =>
    kept.map(([a, b]): [number, number] => [x[b] - x0[a], y[b] - y0[a]]);
  const all = apart(after, before);
  const [dx, dy] = [0, 1].map((axis) => lowerMedian(all.map((each) => each[axis])) || 0);
  return all.map(([x, y]) => [x - dx, y - dy]);
}

/** The upper median. */
export function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1];
}
