/** Groups as soft boxes with a header; what kind of group it is shows in its line. */
import { groupName } from "../graph/labels.ts";
import { GroupKind } from "../model/messages.ts";
import { HEADER, PAD } from "./content.ts";
import { type Detail, type Frame, overlayValue, sx, sy, worldWindow } from "./frame.ts";
import { cividis, formatValue, inkOn, position } from "./overlay.ts";
import { type Pen } from "./pen.ts";

export function paintGroups(context: Pen, f: Frame): void {
  const { groups } = f.scene.visible.picture;
  for (const [g, x, y, w, h] of onScreen(f)) {
    const kernel = isKernel(groups.kind[g]);
    const hovered = f.look.hoveredGroup === g;
    const radius = Math.min(8 * f.camera.scale + 2, w / 2, h / 2);
    context.beginPath();
    context.roundRect(Math.round(x) + 0.5, Math.round(y) + 0.5, Math.round(w), Math.round(h), radius);
    context.fillStyle = wash(f, g);
    context.fill();
    context.lineWidth = hovered ? 1.5 : 1;
    context.strokeStyle = hovered ? f.theme.accent : kernel ? f.theme.kernelLine : f.theme.groupLine;
    context.setLineDash(
      groups.kind[g] === GroupKind.composite ? [6, 3] : groups.kind[g] === GroupKind.branch ? [2, 3] : [],
    );
    context.stroke();
    context.setLineDash([]);
  }
}

/** The open groups in view, with their rectangles. */
function* onScreen(f: Frame): Generator<[group: number, x: number, y: number, w: number, h: number]> {
  const { open, picture } = f.scene.visible;
  const now = f.scene.sideBox(f.sides);
  const moving = f.t < 1 && f.earlier !== null;
  const [left, top, right, bottom] = worldWindow(f);
  for (let i = 0; i < open.length; i++) {
    if (!(picture.groups.side[open[i]] & f.sides)) continue;
    // In a large graph most groups are out of view.
    if (!moving && (now[4 * i] > right || now[4 * i + 1] > bottom)) continue;
    if (!moving && (now[4 * i] + now[4 * i + 2] < left || now[4 * i + 1] + now[4 * i + 3] < top)) continue;
    const [x, y, w, h] = place(f, now, i);
    if (x > f.view.width || y > f.view.height || x + w < 0 || y + h < 0 || w < 1) continue;
    yield [open[i], x, y, w, h];
  }
}

function isKernel(kind: number): boolean {
  return kind === GroupKind.primitive || kind === GroupKind.external;
}

function wash(f: Frame, g: number): string {
  const at = tone(f, g);
  return at >= 0 ? cividis(at) : isKernel(f.scene.visible.picture.groups.kind[g]) ? f.theme.kernel : f.theme.group;
}

/** Where a measured group is on the overlay's scale; -1 for what has no value. */
function tone(f: Frame, g: number): number {
  const value = overlayValue(f, "groups", g);
  return value !== undefined && f.look.overlay ? position(f.look.overlay, value) : -1;
}

/** Names of the groups, after the edges, so that no line runs through them. */
export function paintHeaders(context: Pen, f: Frame, level: Detail): void {
  const { groups } = f.scene.visible.picture;
  const plates: { x: number; y: number; width: number; text: string }[] = [];
  for (const [g, x, y, w, h] of onScreen(f)) {
    const name = groupName(groups.name[g]);
    if (level !== "box") header(context, f, measured(f, g, name), x, y, w, g);
    else if (h >= 30 && w >= 40) plates.push({ x, y, width: w, text: name });
  }
  // From afar the boxes carry their names as a map does, largest first, and only where there is room.
  paintPlates(context, f, plates);
}

/** Screen rectangle of an open group, on its way from where it was. */
function place(f: Frame, now: Float32Array, i: number): [number, number, number, number] {
  const was = f.earlier?.boxes;
  const moves = f.t < 1 && was && !Number.isNaN(was[4 * i]);
  const at = (k: number) => (moves ? was[4 * i + k] + (now[4 * i + k] - was[4 * i + k]) * f.t : now[4 * i + k]);
  const [x, y, w, h] = [at(0), at(1), at(2), at(3)];
  return [sx(f, x), sy(f, y), w * f.camera.scale, h * f.camera.scale];
}

function measured(f: Frame, g: number, name: string): string {
  const value = overlayValue(f, "groups", g);
  return value === undefined ? name : `${formatValue(value)} ${f.look.overlay?.unit ?? ""} · ${name}`;
}

function header(context: Pen, f: Frame, name: string, x: number, y: number, w: number, g: number): void {
  const at = tone(f, g);
  const ink = at >= 0 ? inkOn(at) : f.look.hoveredGroup === g ? f.theme.accent : f.theme.dim;
  const k = f.camera.scale;
  // From afar a name keeps a readable size and has the header's whole height.
  const size = Math.max(11 * k, Math.min(8.5, HEADER * k));
  const middle = y + (HEADER / 2) * k;
  const words = f.ruler.fit(name, w - (PAD * 2 + 16) * k, size, true);
  if (words) {
    // An edge may come in through the header: the name keeps a plate of its own over it.
    context.fillStyle = wash(f, g);
    context.fillRect(x + (PAD - 2) * k, middle - 8 * k, f.ruler.width(words, size, true) + 18 * k, 16 * k);
  }
  chevron(context, x + (PAD + 4) * k, middle, 3.5 * k, true, ink, k);
  context.font = `600 ${size}px ${f.theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = ink;
  if (words) context.fillText(words, x + (PAD + 13) * k, middle);
}

export function chevron(context: Pen, x: number, y: number, r: number, open: boolean, color: string, k: number): void {
  context.beginPath();
  if (open) {
    context.moveTo(x - r, y - r / 2);
    context.lineTo(x, y + r / 2);
    context.lineTo(x + r, y - r / 2);
  } else {
    context.moveTo(x - r / 2, y - r);
    context.lineTo(x + r / 2, y);
    context.lineTo(x - r / 2, y + r);
  }
  context.lineWidth = Math.max(1, 1.6 * k);
  context.strokeStyle = color;
  context.stroke();
}

function paintPlates(context: Pen, f: Frame, plates: { x: number; y: number; width: number; text: string }[]): void {
  const placed: [number, number, number, number][] = [];
  context.font = `600 11px ${f.theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const plate of plates) {
    const words = f.ruler.fit(plate.text, plate.width - 10, 11, true);
    if (words.length < Math.min(4, plate.text.length)) continue;
    const width = f.ruler.width(words, 11, true) + 8;
    const [x, y] = [Math.max(plate.x, 0) + 3, Math.max(plate.y, 0) + 3];
    if (placed.some(([a, b, c, d]) => x < c && x + width > a && y < d && y + 16 > b)) continue;
    placed.push([x, y, x + width, y + 16]);
    context.globalAlpha = 0.85;
    context.fillStyle = f.theme.background;
    context.fillRect(x, y, width, 16);
    context.globalAlpha = 1;
    context.fillStyle = f.theme.dim;
    context.fillText(words, x + 4, y + 8.5);
  }
}
