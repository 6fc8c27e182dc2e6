/** Nodes at three levels of detail: a box; its name; name, type, attributes and badges. */
import { append } from "../graph/csr.ts";
import { sideOf } from "../graph/picture.ts";
import {
  BADGE_GAP,
  BADGE_HEIGHT,
  badgeRows,
  type Content,
  changeParts,
  contentOf,
  LABEL,
  PAD,
  SMALL,
} from "./content.ts";
import { centre, type Detail, detail, type Frame, markOf, overlayValue, presence } from "./frame.ts";
import { MUTED } from "./look.ts";
import { cividis, formatValue, inkOn, position } from "./overlay.ts";
import { chevron } from "./paint_groups.ts";
import { type Pen } from "./pen.ts";

export function paintNodes(context: Pen, f: Frame, level: Detail, items: number[]): void {
  if (level === "box") paintFar(context, f, items);
  else for (const i of items) paintOne(context, f, i, level);
  context.globalAlpha = 1;
}

/** Many small boxes: sorted by colour, so that the canvas changes its fill a handful of times. */
function paintFar(context: Pen, f: Frame, items: number[]): void {
  const byColor = new Map<string, number[]>();
  for (const i of items) append(byColor, farColor(f, i), i);
  const k = f.camera.scale;
  for (const [color, list] of byColor) {
    context.fillStyle = color;
    for (const i of list) {
      const [x, y] = centre(f, i);
      const w = Math.max(2.5, f.scene.size.width[i] * k);
      const h = Math.max(1, f.scene.size.height[i] * k);
      context.fillRect(x - w / 2, y - h / 2, w, h);
    }
  }
  const { selected, linked, hovered } = f.look;
  rings(context, f, selected.size > 0 ? items.filter((i) => selected.has(i)) : [], f.theme.accent, 2);
  rings(context, f, linked, f.theme.mark[4], 1.5);
  rings(context, f, hovered >= 0 ? [hovered] : [], f.theme.accent, 1.5);
}

function farColor(f: Frame, i: number): string {
  const value = overlayValue(f, "items", i);
  if (f.look.muted?.has(i)) return f.theme.group;
  if (value !== undefined && f.look.overlay) return cividis(position(f.look.overlay, value));
  if (f.look.found) return f.look.found.has(i) ? f.theme.orange : f.theme.groupLine;
  const mark = markOf(f, i) || markInside(f, i);
  return mark > 0 ? f.theme.mark[mark] : f.theme.boxLine;
}

/** For a collapsed group: what happened inside, if it was of one kind, else that something changed. */
export function markInside(f: Frame, i: number): number {
  const { visible } = f.scene;
  if (visible.collapsedGroup[i] < 0 || !visible.picture.compares) return 0;
  const counts = contentOf(visible, i, f.textSide).changes;
  const kinds = counts ? [...counts.keys()].filter((mark) => mark > 0 && counts[mark] > 0) : [];
  return kinds.length === 1 ? kinds[0] : kinds.length > 1 ? 1 : 0;
}

function ring(context: Pen, f: Frame, i: number, color: string, width: number): void {
  rings(context, f, [i], color, width);
}

/** Outlines in one path: twenty thousand strokes would cost half a second. */
function rings(context: Pen, f: Frame, items: Iterable<number>, color: string, width: number): void {
  context.beginPath();
  for (const i of items) if (f.scene.visible.side[i] & f.sides) outline(context, f, i);
  context.lineWidth = width;
  context.strokeStyle = color;
  context.setLineDash([]);
  context.stroke();
}

function outline(context: Pen, f: Frame, i: number): void {
  const [x, y] = centre(f, i);
  const w = Math.max(4, drawnWidth(f, i)) + 4;
  const h = Math.max(4, f.scene.size.height[i] * f.camera.scale) + 4;
  context.roundRect(x - w / 2, y - h / 2, w, h, Math.min(w, h, 7 * f.camera.scale + 3) / 1.5);
}

function paintOne(context: Pen, f: Frame, i: number, level: Detail): void {
  const k = f.camera.scale;
  const w = drawnWidth(f, i);
  const h = f.scene.size.height[i] * k;
  // Whole device-independent pixels, so that hairlines stay hairlines.
  const [cx, cy] = centre(f, i);
  const [x, y] = [Math.round(cx - w / 2) + 0.5, Math.round(cy - h / 2) + 0.5];
  const content = contentOf(f.scene.visible, i, f.textSide);
  const mark = markOf(f, i);
  const within = mark || markInside(f, i);
  const color = within > 0 ? f.theme.mark[within] : f.theme.boxLine;
  const faded = f.look.found !== null && !f.look.found.has(i);
  context.globalAlpha = presence(f, i) * (f.look.muted?.has(i) ? MUTED : faded ? 0.3 : 1);
  const radius = content.shape === "pill" ? Math.min(h / 2, 14 * k) : Math.min(6 * k, h / 2);
  if (content.shape === "stack") {
    context.beginPath();
    context.roundRect(x + 3 * k, y + 3 * k, w, h, radius);
    context.fillStyle = f.theme.group;
    context.fill();
    context.strokeStyle = f.theme.groupLine;
    context.lineWidth = 1;
    context.stroke();
  }
  context.beginPath();
  context.roundRect(x, y, w, h, radius);
  const value = overlayValue(f, "items", i);
  const tone = value !== undefined && f.look.overlay ? position(f.look.overlay, value) : null;
  context.fillStyle = tone !== null ? cividis(tone) : content.shape === "stack" ? f.theme.surface : f.theme.box;
  context.fill();
  if (mark > 0 && tone === null) {
    context.save();
    context.globalAlpha *= f.theme.dark ? 0.2 : 0.12;
    context.fillStyle = color;
    context.fill();
    context.restore();
  }
  context.lineWidth = mark > 0 ? Math.max(1.2, 1.8 * k) : 1;
  context.strokeStyle = color;
  context.setLineDash(mark === 2 ? [5, 3] : f.scene.visible.gap[i] > 0 || foreign(f, i) ? [2, 3] : []);
  context.stroke();
  context.setLineDash([]);
  if (isOutput(f, i)) outputLine(context, f, x, y, w, h);
  const ink = tone !== null ? inkOn(tone) : f.theme.ink;
  const box = { content, x, y, w, h, ink, dim: tone !== null ? ink : f.theme.dim, value };
  if (level === "name") name(context, f, box);
  else full(context, f, box);
  if (f.look.selected.has(i)) ring(context, f, i, f.theme.accent, 2.2);
  else if (f.look.hovered === i) ring(context, f, i, f.theme.accent, 1.4);
  else if (f.look.linked.has(i)) ring(context, f, i, f.theme.mark[4], 1.6);
  else if (f.look.found?.has(i)) ring(context, f, i, f.theme.orange, 2);
  if (mark > 0)
    paintMark(
      context,
      mark,
      x + Math.min(2, w / 4),
      y + Math.min(2, h / 4),
      Math.min(8, Math.max(4.5, 7.5 * k)),
      color,
      f.theme.background,
    );
}

/** A box from afar is as wide as its name, which keeps its size, where nothing is beside it. */
function drawnWidth(f: Frame, i: number): number {
  const { size, x, y, items, visible } = f.scene;
  const k = f.camera.scale;
  const [width, height] = [size.width[i], size.height[i]];
  if (detail(k) !== "name") return width * k;
  const wanted = (f.ruler.width(contentOf(visible, i, f.textSide).label, nameSize(height * k)) + NAME_PAD) / k;
  if (wanted <= width) return width * k;
  let free = wanted;
  items.query(x[i] - wanted, y[i] - height / 2, x[i] + wanted, y[i] + height / 2, (j) => {
    // The room between two neighbours is for both.
    if (j !== i && visible.side[j] & f.sides)
      free = Math.min(free, Math.abs(x[j] - x[i]) + (width - size.width[j]) / 2);
  });
  return Math.max(width, Math.min(wanted, free - NAME_PAD / k)) * k;
}

/** A collapsed kernel in the pane of the side that does not have it yet: its ops are there, the kernel is not. */
function foreign(f: Frame, i: number): boolean {
  const { picture, collapsedGroup } = f.scene.visible;
  return collapsedGroup[i] >= 0 && picture.compares && (picture.groups.side[collapsedGroup[i]] & f.sides) === 0;
}

function isOutput(f: Frame, i: number): boolean {
  const u = f.scene.visible.node[i];
  return u >= 0 && (f.scene.visible.picture.output[u] & f.sides) !== 0;
}

/** What the function returns has a heavier edge where the flow ends. */
function outputLine(context: Pen, f: Frame, x: number, y: number, w: number, h: number): void {
  const k = f.camera.scale;
  context.beginPath();
  if (f.scene.turned) {
    context.moveTo(x + w + 3 * k, y + 8 * k);
    context.lineTo(x + w + 3 * k, y + h - 8 * k);
  } else {
    context.moveTo(x + 8 * k, y + h + 3 * k);
    context.lineTo(x + w - 8 * k, y + h + 3 * k);
  }
  context.lineWidth = Math.max(1, 2 * k);
  context.strokeStyle = f.theme.dim;
  context.stroke();
}

/** A whole name in slightly smaller letters, or without its "nn.", says more than its beginning. */
function nameThatFits(f: Frame, label: string, room: number, usual: number): [string, number] {
  for (const each of [label, label.replace(/^nn\./, "")]) {
    for (let size = usual; size >= Math.max(8.5, usual - 2); size--)
      if (f.ruler.fit(each, room, size, false) === each) return [each, size];
  }
  return [f.ruler.fit(label, room, usual, false), usual];
}

/** Around a name, on both sides together. */
const NAME_PAD = 6;

function nameSize(height: number): number {
  return Math.min(11, Math.max(8, height * 0.62));
}

/** A node's box in pixels, what stands in it, and the colours of its words. */
interface Box {
  content: Content;
  x: number;
  y: number;
  w: number;
  h: number;
  ink: string;
  dim: string;
  /** Of the overlay. */
  value: number | undefined;
}

/** Far enough away that only a name fits: it keeps a readable size and the box gives it its whole height. */
function name(context: Pen, f: Frame, { content, x, y, w, h, ink }: Box): void {
  if (h < 8) return;
  const [words, size] = nameThatFits(f, content.label, w - NAME_PAD, nameSize(h));
  if (words === "" || (words.length < 3 && !content.label.endsWith(words))) return;
  context.font = `${size}px ${f.theme.font}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.fillStyle = ink;
  context.fillText(words, x + w / 2, y + h / 2 + 0.5);
}

function full(context: Pen, f: Frame, { content, x, y, w, ink, dim, value }: Box): void {
  const k = f.camera.scale;
  const room = w / k - 2 * PAD;
  const left = x + PAD * k;
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.font = `600 ${LABEL * k}px ${f.theme.font}`;
  context.fillStyle = ink;
  const indent = content.shape === "stack" ? 14 : 0;
  if (indent) chevron(context, left + 4 * k, y + 16 * k, 4 * k, false, dim, k);
  context.fillText(f.ruler.fit(content.label, room - indent, LABEL, true), left + indent * k, y + 16 * k);
  let below = 7 + 18;
  context.font = `${SMALL * k}px ${f.theme.font}`;
  context.fillStyle = dim;
  content.lines.forEach((line, row) => {
    const words =
      row === 0 && value !== undefined && f.look.overlay ? `${formatValue(value)} ${f.look.overlay.unit}` : line;
    if (content.changes && row === content.lines.length - 1)
      changes(context, f, content.changes, left, y + (below + 7) * k);
    else context.fillText(f.ruler.fit(words, room, SMALL), left, y + (below + 7) * k);
    below += 15;
  });
  if (content.badges.length > 0) badges(context, f, content, left, y + (below + 2) * k, room);
}

/** What a pass did inside of a collapsed group, each kind in its colour. */
function changes(context: Pen, f: Frame, counts: readonly number[], left: number, y: number): void {
  const dim = context.fillStyle;
  let x = left;
  counts.forEach((n, mark) => {
    const [words] = changeParts(counts.map((_, other) => (other === mark ? n : 0)));
    if (!words) return;
    context.fillStyle = f.theme.mark[mark];
    context.fillText(words, x, y);
    x += (f.ruler.width(`${words}  `, SMALL) + 2) * f.camera.scale;
  });
  context.fillStyle = dim;
}

function badges(context: Pen, f: Frame, content: Content, left: number, top: number, room: number): void {
  const k = f.camera.scale;
  let y = top;
  const { picture } = f.scene.visible;
  for (const row of badgeRows(content, room, f.ruler)) {
    for (const at of row) {
      const badge = content.badges[at.index];
      const s = sideOf(picture, badge.node, f.textSide);
      const mark = picture.compares ? picture.mark[s][badge.node] : 0;
      if (f.look.mutedNodes?.[badge.node]) {
        context.save();
        context.globalAlpha *= MUTED;
      }
      context.beginPath();
      context.roundRect(
        left + at.x * k,
        y,
        at.width * k,
        BADGE_HEIGHT * k,
        badge.kind === "stub" ? 3 * k : (BADGE_HEIGHT / 2) * k,
      );
      context.fillStyle = f.theme.surface;
      context.fill();
      context.lineWidth = mark > 0 ? 1.4 : 1;
      context.strokeStyle = mark > 0 ? f.theme.mark[mark] : f.theme.groupLine;
      context.setLineDash(badge.kind === "stub" || mark === 2 ? [3, 2] : []);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = mark > 0 ? f.theme.mark[mark] : f.theme.ink;
      context.fillText(
        f.ruler.fit(badge.text, at.width - 10, SMALL),
        left + (at.x + 6) * k,
        y + (BADGE_HEIGHT / 2 + 0.5) * k,
      );
      if (f.look.mutedNodes?.[badge.node]) context.restore();
    }
    y += (BADGE_HEIGHT + BADGE_GAP) * k;
  }
}

/** The signs of UX.md, drawn as strokes so that they look alike in every font: + - ~, joined and forked arrows. */
function paintMark(context: Pen, mark: number, x: number, y: number, r: number, color: string, paper: string): void {
  if (mark === 0) return;
  context.setLineDash([]);
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  context.fillStyle = color;
  context.fill();
  context.lineWidth = Math.max(1.2, r * 0.28);
  context.strokeStyle = paper;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.beginPath();
  const a = r * 0.52;
  switch (mark) {
    case 1:
      context.moveTo(x - a, y + a * 0.25);
      context.bezierCurveTo(x - a * 0.4, y - a * 0.9, x + a * 0.4, y + a * 0.9, x + a, y - a * 0.25);
      break;
    case 2:
      context.moveTo(x - a, y);
      context.lineTo(x + a, y);
      break;
    case 3:
      context.moveTo(x - a, y);
      context.lineTo(x + a, y);
      context.moveTo(x, y - a);
      context.lineTo(x, y + a);
      break;
    default: {
      // Two lines that become one, or one that becomes two.
      const way = mark === 4 ? 1 : -1;
      context.moveTo(x - a * 0.8, y - way * a);
      context.lineTo(x, y);
      context.lineTo(x + a * 0.8, y - way * a);
      context.moveTo(x, y);
      context.lineTo(x, y + way * a);
    }
  }
  context.stroke();
  context.lineCap = "butt";
}
