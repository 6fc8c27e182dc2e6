/** What is shaded and marked beside the diff's marks: a region with braces, letters on branches, what has been merged so far. */
import { sx, sy, type Frame } from "./frame.ts";
import { type Pen } from "./pen.ts";
import { type Scene } from "./scene.ts";
import { type Theme } from "./theme.ts";

type Sign = [item: number, sign: string, look: string, dotted: boolean];

/** Nodes as Python sends them, then items of one scene. */
export interface Notes {
  wash: number[];
  entry: number;
  exit: number;
  signs: Sign[];
  done: number[];
}

export function readNotes(raw: unknown): Notes | null {
  const { wash = [], entry = -1, exit = -1, signs = [], done = [] } = (raw ?? {}) as Partial<Notes>;
  return wash.length + signs.length + done.length > 0 ? { wash, entry, exit, signs, done } : null;
}

export function notesInItems(notes: Notes, scene: Scene): Notes {
  const item = (id: number) => scene.visible.itemOf[scene.visible.picture.node[0][id] ?? -1] ?? -1;
  const items = (ids: number[]) => [...new Set(ids.map(item).filter((i) => i >= 0))];
  const signs = new Map<number, Sign>();
  for (const [id, ...rest] of notes.signs) if (item(id) >= 0 && !signs.has(item(id))) signs.set(item(id), [item(id), ...rest]);
  return { wash: items(notes.wash), entry: item(notes.entry), exit: item(notes.exit), signs: [...signs.values()], done: items(notes.done) };
}

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
  for (const [items, paint, alpha] of [[notes.done, f.theme.mark[3], 0.16], [notes.wash, f.theme.sky, 0.3]] as const) {
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
  for (const [i, brace] of [[notes.entry, "{"], [notes.exit, "}"]] as const) {
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
}
