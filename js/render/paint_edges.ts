/** Edges: width by the logarithm of the bytes on them, curved between layers, straight beside boxes. */
import { compactType } from "../graph/labels.ts";
import { dtypeColor, edgeDtype } from "./dtypes.ts";
import { lag, presence, sx, sy, type Detail, type Frame } from "./frame.ts";
import { MUTED } from "./muted.ts";
import { oneLine } from "./text.ts";
import { type Pen } from "./pen.ts";

/** World pixels: 1 for a few bytes, about 3 for 100 MB. */
export function edgeWidth(bytes: number): number {
  return 1 + Math.min(2.2, Math.max(0, Math.log2(Math.max(1, bytes / 256)) * 0.11));
}

type Style = "plain" | "removed" | "added";

export function paintEdges(context: Pen, f: Frame, level: Detail, area: [number, number, number, number]): void {
  const { visible } = f.scene;
  const plain: number[] = [];
  const strong: number[] = [];
  f.scene.edges.query(...area, (e) => {
    if (!(visible.edgeSide[e] & f.sides)) return;
    if (isStrong(f, e)) strong.push(e);
    else plain.push(e);
  });
  context.lineJoin = "round";
  if (level === "box") {
    const muted = f.look.muted ? plain.filter((e) => isMuted(f, e)) : [];
    if (muted.length > 0) paintFar(context, f, muted, MUTED);
    paintFar(context, f, muted.length > 0 ? plain.filter((e) => !isMuted(f, e)) : plain);
  }
  else for (const e of plain) paintOne(context, f, e, level, f.theme.edge, false);
  for (const e of strong) paintOne(context, f, e, level, f.theme.accent, true);
  context.globalAlpha = 1;
  context.setLineDash([]);
  if (level === "full") for (const e of [...plain, ...strong]) paintField(context, f, e);
}

/** ".0": which field of its producer's tuple an edge carries, small, where it arrives: all of them leave from one point. */
function paintField(context: Pen, f: Frame, e: number): void {
  if (isMuted(f, e)) return;
  const { points, pointOffset, visible, turned } = f.scene;
  const dtype = f.look.edges === "dtype" ? edgeDtype(visible.edgeType[e]) : "";
  const words = `${visible.edgeLabel[e]} ${dtype}`.trim();
  if (words === "") return;
  const q = pointOffset[e + 1] - 1;
  const size = Math.max(9, 10 * f.camera.scale);
  context.font = `${size}px ${f.theme.font}`;
  // Beside the arrow's head, on the line's right or above it.
  context.textAlign = turned ? "right" : "left";
  context.textBaseline = "bottom";
  context.fillStyle = dtype ? dtypeColor(dtype, f.theme) : f.theme.dim;
  context.fillText(oneLine(words, 24), sx(f, points[2 * q]) + (turned ? -6 : 5), sy(f, points[2 * q + 1]) - (turned ? 2 : 5));
}

/** Edges at a selected or hovered item, and the hovered edge itself. */
function isStrong(f: Frame, e: number): boolean {
  const { source, target } = f.scene.visible;
  const { hovered, hoveredEdge, selected } = f.look;
  if (e === hoveredEdge || source[e] === hovered || target[e] === hovered) return true;
  // Everything in a large selection would be strong, and then nothing is.
  return selected.size > 0 && selected.size <= 8 && (selected.has(source[e]) || selected.has(target[e]));
}

function styleOf(f: Frame, e: number): Style {
  const { visible } = f.scene;
  if (!visible.picture.compares || visible.edgeSide[e] === 3) return "plain";
  return visible.edgeSide[e] === 1 ? "removed" : "added";
}

/** Thousands of edges at once: one path a colour, no arrows, and nothing shorter than a pixel. */
function paintFar(context: Pen, f: Frame, edges: number[], strength = 1): void {
  const { points, pointOffset } = f.scene;
  context.lineWidth = Math.max(0.5, Math.min(1, f.camera.scale * 4));
  for (const style of ["plain", "removed", "added"] as const) {
    context.beginPath();
    let any = false;
    for (const e of edges) {
      if (styleOf(f, e) !== style) continue;
      const from = pointOffset[e];
      const to = pointOffset[e + 1];
      let x = sx(f, points[2 * from]);
      let y = sy(f, points[2 * from + 1]);
      const length = Math.abs(sx(f, points[2 * to - 2]) - x) + Math.abs(sy(f, points[2 * to - 1]) - y);
      if (length < 1.5) continue;
      any = true;
      context.moveTo(x, y);
      for (let p = from + 1; p < to; p++) {
        const [nx, ny] = [sx(f, points[2 * p]), sy(f, points[2 * p + 1])];
        if (p + 1 < to && Math.abs(nx - x) + Math.abs(ny - y) < 2) continue;
        context.lineTo(nx, ny);
        [x, y] = [nx, ny];
      }
    }
    if (!any) continue;
    context.strokeStyle = style === "plain" ? f.theme.edge : f.theme.mark[style === "removed" ? 2 : 3];
    context.globalAlpha = 0.75 * strength * (f.earlier ? 0.4 + 0.6 * f.t : 1);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function paintOne(context: Pen, f: Frame, e: number, level: Detail, color: string, strong: boolean): void {
  const { visible, points, pointOffset, turned } = f.scene;
  const k = f.camera.scale;
  const style = styleOf(f, e);
  const [ax, ay] = lag(f, visible.source[e]);
  const [bx, by] = lag(f, visible.target[e]);
  const from = pointOffset[e];
  const last = pointOffset[e + 1] - 1;
  const at = (p: number): [number, number] => {
    const part = last > from ? (p - from) / (last - from) : 0;
    return [sx(f, points[2 * p] + ax + (bx - ax) * part), sy(f, points[2 * p + 1] + ay + (by - ay) * part)];
  };
  let [x, y] = at(from);
  context.beginPath();
  context.moveTo(x, y);
  for (let p = from + 1; p <= last; p++) {
    const [nx, ny] = at(p);
    if (Math.abs(turned ? ny - y : nx - x) < 0.5) context.lineTo(nx, ny);
    else if (turned) context.bezierCurveTo((x + nx) / 2, y, (x + nx) / 2, ny, nx, ny);
    else context.bezierCurveTo(x, (y + ny) / 2, nx, (y + ny) / 2, nx, ny);
    [x, y] = [nx, ny];
  }
  context.globalAlpha = Math.min(presence(f, visible.source[e]), presence(f, visible.target[e])) * (isMuted(f, e) ? MUTED : dimmed(f, e) ? 0.3 : 1);
  context.lineWidth = Math.max(strong ? 1.2 : 0.7, edgeWidth(visible.edgeBytes[e]) * k * (strong ? 1.35 : 1));
  const byType = f.look.edges === "dtype" && !strong;
  context.strokeStyle = byType ? dtypeColor(edgeDtype(visible.edgeType[e]), f.theme)
    : strong || style === "plain" ? color : f.theme.mark[style === "removed" ? 2 : 3];
  context.setLineDash(style === "removed" ? [5 * Math.max(0.6, k), 4 * Math.max(0.6, k)] : []);
  context.stroke();
  if (level !== "box") arrow(context, x, y, Math.min(7, Math.max(3, 5.5 * k)), context.strokeStyle as string, turned);
}

function isMuted(f: Frame, e: number): boolean {
  const { source, target } = f.scene.visible;
  return f.look.muted !== null && (f.look.muted.has(source[e]) || f.look.muted.has(target[e]));
}

function dimmed(f: Frame, e: number): boolean {
  const { found } = f.look;
  return found !== null && !found.has(f.scene.visible.source[e]) && !found.has(f.scene.visible.target[e]);
}

function arrow(context: Pen, x: number, y: number, r: number, color: string, right = false): void {
  const tip = (across: number, back: number) => (right ? context.lineTo(x - back, y + across) : context.lineTo(x + across, y - back));
  context.beginPath();
  if (right) context.moveTo(x + 0.5, y);
  else context.moveTo(x, y + 0.5);
  tip(-r * 0.6, r);
  tip(r * 0.6, r);
  context.closePath();
  context.fillStyle = color;
  context.fill();
}

/** What flows: on the edges of what is hovered or selected, and field numbers always where there is room. */
export function paintEdgeLabels(context: Pen, f: Frame, level: Detail): void {
  if (level !== "full" || f.t < 1) return;
  const { visible, points, pointOffset } = f.scene;
  const placed: [number, number, number, number][] = [];
  const wanted = new Set<number>();
  const { hovered, hoveredEdge, selected } = f.look;
  if (hoveredEdge >= 0) wanted.add(hoveredEdge);
  for (const item of [hovered, ...(selected.size <= 8 ? selected : [])]) if (item >= 0) for (const e of f.scene.edgesOf(item)) wanted.add(e);
  const size = Math.max(10, 10.5 * f.camera.scale);
  context.font = `${size}px ${f.theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const e of wanted) {
    if (!(visible.edgeSide[e] & f.sides)) continue;
    const words = f.ruler.fit(edgeText(f, e), 260, 10.5);
    const width = f.ruler.width(words, size) + 8;
    const at = longestPiece(points, pointOffset[e], pointOffset[e + 1] - 1);
    // The middle of the longest piece, or a little off it where another label is.
    const spot = [0.5, 0.3, 0.7].map((part): [number, number] => [
      sx(f, at[0] + (at[2] - at[0]) * part), sy(f, at[1] + (at[3] - at[1]) * part),
    ]).find(([px, py]) => !placed.some(([a, b, c, d]) => px - width / 2 < c && px + width / 2 > a && py - size * 0.8 < d && py + size * 0.8 > b));
    if (!spot) continue;
    const [x, y] = spot;
    const box: [number, number, number, number] = [x - width / 2, y - size * 0.8, x + width / 2, y + size * 0.8];
    placed.push(box);
    context.fillStyle = f.theme.background;
    context.globalAlpha = 0.92;
    context.fillRect(box[0], box[1], width, size * 1.6);
    context.globalAlpha = 1;
    context.fillStyle = f.theme.ink;
    context.fillText(words, x, y);
  }
}

function longestPiece(points: Float32Array, first: number, last: number): [number, number, number, number] {
  let best: [number, number, number, number] = [points[2 * first], points[2 * first + 1], points[2 * last], points[2 * last + 1]];
  let length = -1;
  for (let p = first; p < last; p++) {
    const long = Math.hypot(points[2 * p + 2] - points[2 * p], points[2 * p + 3] - points[2 * p + 1]);
    if (long <= length) continue;
    length = long;
    best = [points[2 * p], points[2 * p + 1], points[2 * p + 2], points[2 * p + 3]];
  }
  return best;
}

export function edgeText(f: Pick<Frame, "scene">, e: number): string {
  const { visible } = f.scene;
  const type = oneLine(compactType(visible.edgeType[e]));
  const label = oneLine(visible.edgeLabel[e], 20);
  const more = visible.edgeFold[e] > 1 ? ` ×${visible.edgeFold[e]}` : "";
  return `${label ? `${label} ` : ""}${type}${more}`;
}
