/** Draws the chart of a memory plan: blocks first, then the curve and the sizes over what leaves the plot. */

import { formatBytes } from "../../text/counted.ts";
import { type Pen } from "../pen.ts";
import { oneLine } from "../text.ts";
import { AXIS, GUTTER, headOf, type MemoryFrame, NARROW, RIGHT, rowTop, xOf } from "./chart.ts";
import { nodesAt, type Place } from "./plan.ts";

const SIZE = 11;
/** Pixels of a kernel that has room for its name. */
/** Pixels that the number of a kernel needs. */
const LEAST_ROOM = 32;
const NAMED = 44;
const FEWEST_LETTERS = 6;
/** Above the curve, for the words of the peak. */
const TOP = 20;

type Box = [x: number, y: number, width: number, height: number];

export function paintMemory(pen: Pen, ratio: number, frame: MemoryFrame): void {
  const { view, theme } = frame;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.textBaseline = "middle";
  fill(pen, theme.background, [0, 0, view.width, view.height]);
  for (let row = 0; row < frame.plan.inRow.length; row++) paintRow(pen, frame, row);
  const head = headOf(view);
  fill(pen, theme.background, [0, 0, view.width, head]);
  paintCurve(pen, frame, head - AXIS);
  paintAxis(pen, frame, head - AXIS / 2);
}

/** By role. */
export function roleColours({ mark, edge, orange }: MemoryFrame["theme"]): string[] {
  return [mark[1], mark[3], edge, orange];
}

function fill(pen: Pen, colour: string, box: Box, alpha = 1): void {
  pen.globalAlpha = alpha;
  pen.fillStyle = colour;
  pen.fillRect(...box);
  pen.globalAlpha = 1;
}

/** Write words after x, or before it where the room is negative. */
function write(pen: Pen, { theme, ruler }: MemoryFrame, words: string, x: number, y: number, room: number): void {
  pen.font = `${SIZE}px ${theme.font}`;
  pen.textAlign = room < 0 ? "right" : "left";
  pen.fillText(ruler.fit(oneLine(words), Math.abs(room), SIZE), x, y);
}

/** At the left of the plot. */
function label(pen: Pen, frame: MemoryFrame, words: string, y: number): void {
  pen.fillStyle = frame.theme.dim;
  write(pen, frame, words, GUTTER - 6, y, 8 - GUTTER);
}

/** The left edge of a step, within the plot. */
function edge(frame: MemoryFrame, step: number): number {
  return Math.max(GUTTER, Math.min(frame.view.width - RIGHT, xOf(frame, step)));
}

function paintRow(pen: Pen, frame: MemoryFrame, row: number): void {
  const { plan, theme, view } = frame;
  const [upper, lower] = [rowTop(frame, row), rowTop(frame, row + 1)];
  if (lower < headOf(view) || upper > view.height) return;
  const { born, dies } = plan.tensor;
  const [y, height] = [upper + 0.5, lower - upper - 1.5];
  fill(pen, theme.groupLine, [0, lower - 0.5, view.width, 0.5]);
  label(pen, frame, formatBytes(plan.row.bytes[row]), y + height / 2);
  // Neighbours that are too narrow to be drawn apart are one pale block.
  let [from, to] = [0, 0];
  const flush = () => {
    if (to > from) fill(pen, theme.edge, [from, y, Math.max(1, to - from), height], 0.35);
    from = to;
  };
  for (const t of plan.inRow[row]) {
    const [x0, x1] = [edge(frame, born[t]), edge(frame, dies[t] + 1)];
    if (x0 >= x1) continue;
    const narrow = x1 - x0 < NARROW && !isMarked(frame, { row, item: t });
    if (!narrow || x0 > to + 1) flush();
    if (!narrow) paintBlock(pen, frame, { row, item: t }, [x0, y, Math.max(1, x1 - x0 - 1), height]);
    else {
      if (x0 > to + 1 || from === to) from = x0;
      to = Math.max(to, x1);
    }
  }
  flush();
}

/** The layers in a tensor's name, which are left out where the whole name does not fit. */
const LAYERS = /^.*\.(?=[^.]*[A-Za-z])/;

function paintBlock(pen: Pen, frame: MemoryFrame, place: Place, box: Box): void {
  const { plan, theme, cursor, hovered } = frame;
  const { born, dies, role, name_s } = plan.tensor;
  const [t, [x, y, width, height]] = [place.item, box];
  const atPeak = born[t] <= plan.peakStep && plan.peakStep <= dies[t];
  const colour = roleColours(theme)[role[t]];
  // Tensors that share memory lie over one another.
  fill(pen, theme.background, box);
  fill(pen, colour, box, atPeak ? 0.7 : 0.35);
  fill(pen, colour, [x, y, 1, height]);
  if (isSelected(frame, place)) outline(pen, theme.accent, 3, [x + 1, y + 1, width - 2, height - 2]);
  if (same(hovered, place)) outline(pen, theme.dim, 1, box);
  if (same(cursor, place)) outline(pen, theme.ink, 2, box);
  pen.fillStyle = theme.ink;
  if (width <= 24) return;
  const name = oneLine(plan.strings[name_s[t]]);
  const words = frame.ruler.width(name, SIZE) <= width - 8 ? name : name.replace(LAYERS, "");
  // The beginning of a name that could be any other's is left to the tooltip.
  if (frame.ruler.width(words.slice(0, FEWEST_LETTERS), SIZE) <= width - 8)
    write(pen, frame, words, x + 4, y + height / 2, width - 8);
}

function isSelected({ plan, selected }: MemoryFrame, place: Place): boolean {
  return selected.size > 0 && nodesAt(plan, place).some((node) => selected.has(node));
}

function same(a: Place | null, b: Place): boolean {
  return a?.row === b.row && a.item === b.item;
}

function isMarked(frame: MemoryFrame, place: Place): boolean {
  return same(frame.cursor, place) || same(frame.hovered, place) || isSelected(frame, place);
}

function outline(pen: Pen, colour: string, width: number, box: Box): void {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.beginPath();
  pen.rect(...box);
  pen.stroke();
}

/** Live bytes of each kernel as an area, held ones as a line; a part is at least a pixel wide and has the most of its kernels. */
function paintCurve(pen: Pen, frame: MemoryFrame, base: number): void {
  const { plan, theme, scale, window, view } = frame;
  const { live, held } = plan.step;
  const yOf = (bytes: number) => base - (bytes / scale.most) * (base - TOP);
  let [area, line] = [0, 0];
  let from = GUTTER;
  for (let step = Math.max(0, Math.floor(window.start)); step < Math.min(plan.steps, window.end); step++) {
    if (area + line === 0) from = edge(frame, step);
    const to = edge(frame, step + 1);
    [area, line] = [Math.max(area, live[step]), Math.max(line, held[step])];
    const last = step + 1 >= Math.min(plan.steps, window.end);
    if (to - from < 1 && !last) continue;
    fill(pen, theme.sky, [from, yOf(area), to - from, base - yOf(area)], 0.45);
    fill(pen, theme.dim, [from, yOf(line), to - from, 1]);
    [area, line] = [0, 0];
  }
  fill(pen, theme.edge, [GUTTER, base, view.width - GUTTER - RIGHT, 0.5]);
  label(pen, frame, formatBytes(scale.most), TOP);
  if (plan.peakStep >= 0) paintPeak(pen, frame);
  for (const place of [frame.hovered, frame.cursor])
    if (place?.row === -1) {
      const x = edge(frame, place.item);
      outline(pen, theme.ink, 1, [x, TOP, Math.max(1, edge(frame, place.item + 1) - x), base - TOP]);
    }
}

/** A line through the chart at the kernel with the most live bytes, and its name. */
function paintPeak(pen: Pen, frame: MemoryFrame): void {
  const { plan, theme, view } = frame;
  const step = plan.peakStep;
  const x = xOf(frame, step + 0.5);
  if (x <= GUTTER || x >= view.width - RIGHT) return;
  fill(pen, theme.mark[2], [x - 0.75, TOP - 6, 1.5, view.height - TOP]);
  const words = `${formatBytes(plan.step.live[step])} live: ${plan.strings[plan.step.name_s[step]]}`;
  const [before, after] = [x - GUTTER, view.width - x];
  write(pen, frame, words, before > after ? x - 5 : x + 5, TOP - 10, before > after ? 5 - before : after - 5);
}

/** Names of kernels where they have room, else numbers. */
function paintAxis(pen: Pen, frame: MemoryFrame, y: number): void {
  const { plan, window } = frame;
  label(pen, frame, "kernel", y);
  const pixels = xOf(frame, 1) - xOf(frame, 0);
  const every = pixels >= NAMED ? 1 : 10 ** Math.ceil(Math.log10(NAMED / pixels));
  const end = Math.min(window.end, plan.steps);
  for (let step = Math.max(0, Math.ceil(window.start / every) * every); step < end; step += every) {
    const name = every > 1 ? "" : ` ${plan.strings[plan.step.name_s[step]]}`;
    const x = xOf(frame, step) + 2;
    const room = Math.min(Math.max(pixels, NAMED) - 4, frame.view.width - x);
    if (room >= LEAST_ROOM) write(pen, frame, step + name, x, y, room);
  }
}
