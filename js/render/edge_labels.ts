/**
 * The type of what flows, on the edges of hovered and selected items; and on request the colours of data types: an int32
 * between kernels where int8 would do stands out.
 */
import { compactType } from "../graph/labels.ts";
import { DTYPES } from "./colours.ts";
import { HEADER } from "./content.ts";
import { type Detail, type Frame, sx, sy } from "./frame.ts";
import { type Pen } from "./pen.ts";
import { itemsIn } from "./scene.ts";
import { oneLine } from "./text.ts";
import { type Theme } from "./theme.ts";

/** The labels of more edges than this would be a list, not labels. */
const MOST_SELECTED = 8;
const PARTS = [0.5, 0.3, 0.7, 0.15, 0.85];

/** Left, top, right, bottom; pixels of the pane. */
type Plate = readonly [number, number, number, number];

/** Each label is where it covers no node, no group's name and no other label; an edge without such a place has none. */
export function paintEdgeLabels(context: Pen, f: Frame, level: Detail): void {
  if (level !== "full" || f.t < 1) return;
  const placed: Plate[] = [];
  const size = Math.max(10, 10.5 * f.camera.scale);
  context.font = `${size}px ${f.theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const e of labelledEdges(f)) {
    const words = f.ruler.fit(edgeText(f, e), 260, 10.5);
    const plate = freePlate(f, e, f.ruler.width(words, size) + 8, size * 1.6, placed);
    if (!plate) continue;
    placed.push(plate);
    const [left, top, right, bottom] = plate;
    context.fillStyle = f.theme.background;
    context.globalAlpha = 0.92;
    context.fillRect(left, top, right - left, bottom - top);
    context.globalAlpha = 1;
    context.fillStyle = f.theme.ink;
    context.fillText(words, (left + right) / 2, (top + bottom) / 2);
  }
}

function labelledEdges(f: Frame): number[] {
  const { hovered, hoveredEdge, selected } = f.look;
  const items = [hovered, ...(selected.size <= MOST_SELECTED ? selected : [])].filter((i) => i >= 0);
  const edges = new Set([...(hoveredEdge >= 0 ? [hoveredEdge] : []), ...items.flatMap((i) => [...f.scene.edgesOf(i)])]);
  return [...edges].filter((e) => f.scene.visible.edgeSide[e] & f.sides);
}

/** The first free place on an edge, longest piece first; or beside the line, where the pieces between boxes are short. */
function freePlate(f: Frame, e: number, width: number, height: number, placed: readonly Plate[]): Plate | null {
  for (const [x0, y0, x1, y1] of pieces(f, e)) {
    for (const part of PARTS) {
      const [x, y] = [sx(f, x0 + (x1 - x0) * part), sy(f, y0 + (y1 - y0) * part)];
      for (const shift of [0, width / 2 + 4, -width / 2 - 4]) {
        const left = x + shift - width / 2;
        const plate: Plate = [left, y - height / 2, left + width, y + height / 2];
        if (isFree(f, plate, placed)) return plate;
      }
    }
  }
  return null;
}

function pieces(f: Frame, e: number): Plate[] {
  const { points, pointOffset } = f.scene;
  const found: Plate[] = [];
  for (let p = pointOffset[e]; p + 1 < pointOffset[e + 1]; p++)
    found.push([points[2 * p], points[2 * p + 1], points[2 * p + 2], points[2 * p + 3]]);
  const length = ([x0, y0, x1, y1]: Plate) => Math.hypot(x1 - x0, y1 - y0);
  return found.sort((a, b) => length(b) - length(a));
}

function isFree(f: Frame, plate: Plate, placed: readonly Plate[]): boolean {
  const onNode = () => itemsIn(f.scene, f.sides, worldOf(f, plate)).length > 0;
  return !placed.some((other) => overlap(plate, other)) && !onNode() && !onHeader(f, plate);
}

function overlap([a, b, c, d]: Plate, [left, top, right, bottom]: Plate): boolean {
  return a < right && c > left && b < bottom && d > top;
}

function onHeader(f: Frame, plate: Plate): boolean {
  const { open, picture } = f.scene.visible;
  const boxes = f.scene.sideBox(f.sides);
  const world = worldOf(f, plate);
  return open.some((g, i) => {
    if (!(picture.groups.side[g] & f.sides)) return false;
    const [x, y, w] = [boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2]];
    return overlap(world, [x, y, x + w, y + HEADER]);
  });
}

function worldOf(f: Frame, [left, top, right, bottom]: Plate): [number, number, number, number] {
  const x = (at: number) => (at - f.view.width / 2) / f.camera.scale + f.camera.x;
  const y = (at: number) => (at - f.view.height / 2) / f.camera.scale + f.camera.y;
  return [x(left), y(top), x(right), y(bottom)];
}

export function edgeText(f: Pick<Frame, "scene">, e: number): string {
  const { visible } = f.scene;
  const type = oneLine(compactType(visible.edgeType[e]));
  const label = oneLine(visible.edgeLabel[e], 20);
  const more = visible.edgeFold[e] > 1 ? ` ×${visible.edgeFold[e]}` : "";
  return `${label ? `${label} ` : ""}${type}${more}`;
}

/** The one data type of all tensors on an edge, "mixed" where there are several, "" where there is none. */
export function edgeDtype(type: string): string {
  const all = new Set([...compactType(type).matchAll(/\)\s*([a-z]\w*)/g)].map(([, name]) => name));
  return all.size === 0 ? "" : all.size === 1 ? [...all][0] : "mixed";
}

/** float32 is what most models are made of: it stays neutral. */
export function dtypeColor(dtype: string, theme: Theme): string {
  return DTYPES[dtype]?.[Number(theme.dark)] ?? theme.edge;
}
