/** Paints the notes: shaded regions, braces, letters. */
import { type Frame, sx, sy } from "./frame.ts";
import { type Pen } from "./pen.ts";
import { type Theme } from "./theme.ts";

function color(theme: Theme, look: string): string {
  return look === "removed" ? theme.mark[2] : look === "added" ? theme.mark[3] : theme.orange;
}

/** Screen rectangle of an item, with a margin in world pixels. */
function box(f: Frame, i: number, margin: number): [number, number, number, number] {
  const k = f.camera.scale;
  const [w, h] = [(f.scene.size.width[i] + 2 * margin) * k, (f.scene.size.height[i] + 2 * margin) * k];
  return [sx(f, f.scene.x[i]) - w / 2, sy(f, f.scene.y[i]) - h / 2, w, h];
}

/** Beneath the edges. */
export function paintWash(context: Pen, f: Frame): void {
  const { notes } = f.look;
  if (!notes) return;
  for (const [items, paint, alpha] of [
    [notes.done, f.theme.mark[3], 0.16],
    [notes.wash, f.theme.sky, 0.3],
  ] as const) {
    context.globalAlpha = alpha;
    context.fillStyle = paint;
    for (const i of items) {
      context.beginPath();
      context.roundRect(...box(f, i, 14), Math.min(14 * f.camera.scale, 14));
      context.fill();
    }
  }
  context.globalAlpha = 1;
}

/** Over the nodes: outlines and braces of the region's ends, and signs. */
export function paintSigns(context: Pen, f: Frame): void {
  const { notes } = f.look;
  if (!notes) return;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [i, brace] of [
    [notes.entry, "{"],
    [notes.exit, "}"],
  ] as const) {
    if (i < 0) continue;
    const [x, y, w, h] = box(f, i, 3);
    context.beginPath();
    context.roundRect(x, y, w, h, 8 * f.camera.scale);
    context.lineWidth = 2;
    context.strokeStyle = f.theme.sky;
    context.stroke();
    const size = Math.max(16, 34 * f.camera.scale);
    context.font = `${size}px ${f.theme.font}`;
    context.fillStyle = f.theme.sky;
    context.fillText(brace, brace === "{" ? x - size / 3 : x + w + size / 3, y + h / 2);
  }
  for (const [i, sign, look, dotted] of notes.signs) {
    const [x, y, w, h] = box(f, i, 0);
    if (dotted) {
      context.beginPath();
      context.roundRect(x - 2, y - 2, w + 4, h + 4, 8 * f.camera.scale);
      context.setLineDash([2, 3]);
      context.lineWidth = 1.6;
      context.strokeStyle = color(f.theme, look);
      context.stroke();
      context.setLineDash([]);
    }
    const r = Math.min(9, Math.max(6, 9 * f.camera.scale));
    context.beginPath();
    context.arc(x + w - r / 2, y + r / 2, r, 0, 2 * Math.PI);
    context.fillStyle = color(f.theme, look);
    context.fill();
    context.font = `700 ${r * 1.35}px ${f.theme.font}`;
    context.fillStyle = f.theme.background;
    context.fillText(sign, x + w - r / 2, y + r / 2 + 0.5);
  }
  const size = Math.min(11, Math.max(8, 11 * f.camera.scale));
  context.font = `600 ${size}px ${f.theme.font}`;
  for (const [i, words] of notes.labels) {
    const [x, y] = box(f, i, 0);
    const width = size * (0.8 + 0.62 * words.length);
    context.beginPath();
    context.roundRect(x - 4, y - size * 0.8, width, size * 1.5, size * 0.4);
    context.fillStyle = f.theme.surface;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = f.theme.dim;
    context.stroke();
    context.fillStyle = f.theme.ink;
    context.fillText(words, x - 4 + width / 2, y);
  }
}
