/** The geometry of the chart: kernels on x, storages on y, live bytes above; and what is at a point. */
import { type Size } from "../camera.ts";
import { type Ruler } from "../text.ts";
import { type Theme } from "../theme.ts";
import { type Place, type Plan } from "./plan.ts";

export const GUTTER = 70;
export const RIGHT = 10;
/** Of the names of kernels, between the curve and the rows. */
export const AXIS = 18;
/** Of a row: the least that has room for a name; and the most, as a share of the room for all. */
const LEAST = 14;
const MOST = 0.5;
/** Steps that a window has at least. */
const CLOSEST = 4;
/** Pixels beneath the last row. */
const FOOT = 6;
/** Pixels; a narrower block is drawn as a part of its neighbours. */
export const NARROW = 3;

/** The part that is shown: steps, and pixels above the first row. */
export interface Window {
  start: number;
  end: number;
  top: number;
}

/** One scale for all plans of a view. */
interface Scale {
  first: number;
  last: number;
  /** The bytes at the top of the curve. */
  most: number;
  /** For each plan, the pixels above each row, and the height of all at the end. */
  tops: number[][];
  /** Whether some rows are higher than by their bytes. */
  raised: boolean;
}

export interface MemoryFrame {
  plan: Plan;
  scale: Scale;
  /** Of the plan among those of the scale. */
  which: number;
  window: Window;
  view: Size;
  theme: Theme;
  ruler: Ruler;
  selected: ReadonlySet<number>;
  cursor: Place | null;
  hovered: Place | null;
}

/** The height of the curve and the names of kernels above the rows. */
export function headOf(view: Size): number {
  return Math.round(Math.min(170, view.height * 0.32));
}

export function scaleOf(plans: readonly Plan[], view: Size): Scale {
  const room = view.height - headOf(view) - FOOT;
  const perByte = Math.min(...plans.map((plan) => pixelsPerByte(Array.from(plan.row.bytes), room)));
  let raised = false;
  const tops = plans.map(({ row }) => {
    const at = [0];
    for (const bytes of Array.from(row.bytes)) {
      at.push(at[at.length - 1] + Math.max(LEAST, bytes * perByte));
      raised ||= bytes * perByte < LEAST;
    }
    return at;
  });
  return {
    first: plans.some(({ tensor }) => Array.from(tensor.born).includes(-1)) ? -1 : 0,
    last: Math.max(1, ...plans.map(({ steps }) => steps)),
    most: plans.flatMap(({ step }) => Array.from(step.held)).reduce((a, b) => Math.max(a, b), 1),
    tops,
    raised,
  };
}

/** The pixels of a byte at which the rows fill the room; many rows get more room than there is, and are scrolled. */
function pixelsPerByte(bytes: number[], room: number): number {
  const sizes = bytes.sort((a, b) => a - b);
  let rest = Math.max(room, sizes.length * LEAST + room / 2);
  let sum = sizes.reduce((a, b) => a + b, 0);
  for (const size of sizes) {
    if (size * rest >= LEAST * sum) break;
    rest -= LEAST;
    sum -= size;
  }
  return sum > 0 ? Math.min((MOST * room) / (sizes.at(-1) ?? 1), rest / sum) : 0;
}

export function xOf({ window, view }: MemoryFrame, step: number): number {
  return GUTTER + ((step - window.start) / (window.end - window.start)) * (view.width - GUTTER - RIGHT);
}

function stepAt({ window, view }: MemoryFrame, x: number): number {
  return window.start + ((x - GUTTER) / (view.width - GUTTER - RIGHT)) * (window.end - window.start);
}

export function rowTop({ scale, which, window, view }: MemoryFrame, row: number): number {
  return headOf(view) + scale.tops[which][row] - window.top;
}

/** The window as near to a wish as the chart allows. */
export function clampWindow({ start, end, top }: Window, { first, last, tops }: Scale, view: Size): Window {
  const width = Math.min(last - first, Math.max(Math.min(CLOSEST, last - first), end - start));
  const left = Math.min(Math.max(start, first), last - width);
  const height = Math.max(0, ...tops.map((each) => each[each.length - 1]));
  const room = view.height - headOf(view) - FOOT;
  return { start: left, end: left + width, top: Math.max(0, Math.min(top, height - room)) };
}

/** Zoom by a factor, with the step under x in its place. */
export function zoomWindow(frame: MemoryFrame, x: number, factor: number): Window {
  const { start, end, top } = frame.window;
  const at = stepAt(frame, x);
  const width = Math.max(Math.min(CLOSEST, frame.scale.last), (end - start) / factor);
  const share = (at - start) / (end - start);
  return { start: at - share * width, end: at + (1 - share) * width, top };
}

/** The block or the step at a point; null for none. */
export function placeAt(frame: MemoryFrame, x: number, y: number): Place | null {
  const { plan, view } = frame;
  const { born, dies } = plan.tensor;
  const at = stepAt(frame, x);
  if (x < GUTTER || x > view.width - RIGHT) return null;
  if (y < headOf(view)) return at >= 0 && at < plan.steps ? { row: -1, item: Math.floor(at) } : null;
  const row = plan.inRow.findIndex((_, i) => y >= rowTop(frame, i) && y < rowTop(frame, i + 1));
  // A block may be narrower than a pixel.
  const near = (way: number) => stepAt(frame, x + way);
  const hits = (plan.inRow[row] ?? []).filter((t) => born[t] <= near(1) && dies[t] + 1 > near(-1));
  const item = hits.find((t) => born[t] <= at && dies[t] + 1 > at) ?? hits[0];
  return item === undefined ? null : { row, item };
}

/** The place that an arrow key, Home or End leads to; at first the peak. */
export function moved(plan: Plan, from: Place | null, key: string): Place {
  if (!from) return { row: -1, item: plan.peakStep };
  const { row, item } = from;
  const { born, dies } = plan.tensor;
  const items = row < 0 ? [...Array(plan.steps).keys()] : plan.inRow[row];
  const here = items.indexOf(item);
  const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: items.length - 1 }[key];
  if (to !== undefined) return { row, item: items[to] ?? item };
  const at = row < 0 ? item : Math.max(0, born[item]);
  const next = row + (key === "ArrowUp" ? -1 : 1);
  if (next < 0) return { row: -1, item: at };
  const away = (t: number) => Math.max(0, born[t] - at, at - dies[t]);
  const [nearest = -1] = [...(plan.inRow[next] ?? [])].sort((a, b) => away(a) - away(b));
  return nearest < 0 ? from : { row: next, item: nearest };
}

/** The window moved so that a place is in it. */
export function windowWith(frame: MemoryFrame, { row, item }: Place): Window {
  const { plan, window, view } = frame;
  const from = row < 0 ? item : plan.tensor.born[item];
  const to = row < 0 ? item : plan.tensor.dies[item];
  const width = window.end - window.start;
  let { start, top } = window;
  if (to < start || from >= window.end) start = from - width / 2;
  if (row >= 0) {
    top -= Math.max(0, headOf(view) - rowTop(frame, row));
    top += Math.max(0, rowTop(frame, row + 1) + FOOT - view.height);
  }
  return { start, end: start + width, top };
}
