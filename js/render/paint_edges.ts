/** Edges: width by the logarithm of the bytes on them, curved between layers, straight beside boxes. */
import { dtypeColor, edgeDtype } from "./edge_labels.ts";
import { type Detail, type Frame, lag, presence, sx, sy } from "./frame.ts";
import { MUTED } from "./look.ts";
import { type Pen } from "./pen.ts";
import { oneLine } from "./text.ts";
import { edgeColour } from "./theme.ts";

/** World pixels: 1 for a few bytes, about 3 for 100 MB. */
function edgeWidth(bytes: number): number {
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
  const coloured = level === "box" ? plain.filter((e) => colourOf(f, e)) : [];
  if (level === "box") {
    const muted = f.look.muted ? plain.filter((e) => isMuted(f, e)) : [];
    if (muted.length > 0) paintFar(context, f, muted, MUTED);
    paintFar(context, f, muted.length > 0 ? plain.filter((e) => !isMuted(f, e)) : plain);
  } else for (const e of plain) paintOne(context, f, e, level, f.theme.edge, false);
  for (const e of coloured) paintOne(context, f, e, level, f.theme.edge, false);
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
  context.fillText(
    oneLine(words, 24),
    sx(f, points[2 * q]) + (turned ? -6 : 5),
    sy(f, points[2 * q + 1]) - (turned ? 2 : 5),
  );
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
  context.globalAlpha =
    Math.min(presence(f, visible.source[e]), presence(f, visible.target[e])) *
    (isMuted(f, e) ? MUTED : dimmed(f, e) ? 0.3 : 1);
  const valued = strong ? null : colourOf(f, e);
  const least = strong ? 1.2 : valued ? 1.6 : 0.7;
  context.lineWidth = Math.max(least, edgeWidth(visible.edgeBytes[e]) * k * (strong || valued ? 1.35 : 1));
  const byType = f.look.edges === "dtype" && !strong;
  context.strokeStyle = valued
    ? valued
    : byType
      ? dtypeColor(edgeDtype(visible.edgeType[e]), f.theme)
      : strong || style === "plain"
        ? color
        : f.theme.mark[style === "removed" ? 2 : 3];
  context.setLineDash(style === "removed" ? [5 * Math.max(0.6, k), 4 * Math.max(0.6, k)] : []);
  context.stroke();
  if (level !== "box") arrow(context, x, y, Math.min(7, Math.max(3, 5.5 * k)), context.strokeStyle as string, turned);
}

/** The colour of an edge's value, if it has one. */
function colourOf(f: Frame, e: number): string | null {
  const t = f.look.notes?.colours?.at.get(e);
  return t === undefined ? null : edgeColour(f.theme, t);
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
  const tip = (across: number, back: number) =>
    right ? context.lineTo(x - back, y + across) : context.lineTo(x + across, y - back);
  context.beginPath();
  if (right) context.moveTo(x + 0.5, y);
  else context.moveTo(x, y + 0.5);
  tip(-r * 0.6, r);
  tip(r * 0.6, r);
  context.closePath();
  context.fillStyle = color;
  context.fill();
}
