/** The first view of a scene: all of it where that can be read, else its first change, else its beginning. */
import { changedNodes } from "../graph/neighbours.ts";
import { BOTH, sideOf } from "../graph/picture.ts";
import { Kind } from "../model/messages.ts";
import { type Box, type Camera, FULL_SCALE, fit, READING_SCALE, type Size, WHOLE_SCALE } from "./camera.ts";
import { itemsOf } from "./derive.ts";
import { around, type Scene } from "./scene.ts";

/** Items in view that make a good beginning: a lone input beside an empty area is not one. */
const ENOUGH = 6;
/** Places where a beginning is looked for. */
const MOST_STARTS = 200;
/** Changes that are tried as the first one to show, and items in view that make one readable, its own among them. */
const MOST_CHANGES = 24;
const READABLE = 4;
const MOST_NEIGHBOURS = 50;
const MARGIN = 24;

export function extent(scene: Scene): Box {
  return { x: 0, y: 0, width: scene.width, height: scene.height };
}

/** Whether all of a scene can be read at once. */
export function fitsWhole(scene: Scene, view: Size): boolean {
  return fit(extent(scene), view, 1, MARGIN).scale >= WHOLE_SCALE;
}

export function openingCamera(scene: Scene, view: Size): Camera {
  if (fitsWhole(scene, view)) return fit(extent(scene), view, 1, MARGIN);
  const change = firstChange(scene, view);
  return change >= 0 ? framed(scene, view, change) : beginning(scene, view);
}

/** An item with as many of its neighbours as fit at a readable scale, and no box cut where that can be helped. */
export function framed(scene: Scene, view: Size, item: number): Camera {
  const shown = fitting(scene, view, item);
  return uncut(scene, view, inside(scene, view, camera(scene, view, shown)), shown);
}

/** An item and as many of its neighbours as fit at a readable scale, or smaller where too few do. */
function fitting(scene: Scene, view: Size, item: number): number[] {
  const { source, target } = scene.visible;
  const distance = (i: number) => Math.hypot(scene.x[i] - scene.x[item], scene.y[i] - scene.y[item]);
  const others = scene.edgesOf(item).map((e) => (source[e] === item ? target[e] : source[e]));
  const near = others.sort((a, b) => distance(a) - distance(b)).slice(0, MOST_NEIGHBOURS);
  const within = (scale: number, most: number) => {
    const shown = [item];
    for (const other of near)
      if (shown.length < most && camera(scene, view, [...shown, other]).scale >= scale) shown.push(other);
    return shown;
  };
  const shown = within(READING_SCALE, MOST_NEIGHBOURS);
  return shown.length < READABLE ? within(FULL_SCALE, READABLE) : shown;
}

/** The camera moved across by as little as makes the most boxes whole; those of `shown` stay in view. */
function uncut(scene: Scene, view: Size, camera: Camera, shown: readonly number[]): Camera {
  const half = (view.width / 2 - MARGIN / 4) / camera.scale;
  const box = around(scene, shown) ?? extent(scene);
  const [least, most] = [box.x + box.width - half, box.x + half];
  const rows: number[] = [];
  for (let i = 0; i < scene.visible.count; i++) {
    const down = view.height / camera.scale / 2 - scene.size.height[i] / 2;
    if (Math.abs(scene.y[i] - camera.y) <= down) rows.push(i);
  }
  const wholes = (x: number) => rows.filter((i) => Math.abs(scene.x[i] - x) <= half - scene.size.width[i] / 2).length;
  let best = { x: camera.x, count: wholes(camera.x) };
  const nearest = (a: number, b: number) => Math.abs(a - camera.x) - Math.abs(b - camera.x);
  const edges = rows.flatMap((i) => [-1, 1].map((side) => scene.x[i] + side * (scene.size.width[i] / 2 - half)));
  const places = [...new Set(edges)].filter((x) => least <= x && x <= most).sort(nearest);
  for (const x of places.slice(0, MOST_STARTS)) {
    const count = wholes(x);
    if (count > best.count) best = { x, count };
  }
  return { ...camera, x: best.x };
}

function camera(scene: Scene, view: Size, items: readonly number[]): Camera {
  return fit(around(scene, items) ?? extent(scene), view, 1, MARGIN);
}

/** Of the first changed items along the flow, the first that can be read in both panes; -1 where nothing changed. */
export function firstChange(scene: Scene, view: Size): number {
  const { picture, collapsedGroup, open, parent, count } = scene.visible;
  if (!picture.compares) return -1;
  let changed = itemsOf(scene, changedNodes(picture));
  if (changed.length === 0) {
    const groupOf = (i: number) => (collapsedGroup[i] >= 0 ? collapsedGroup[i] : (open[parent[i]] ?? -1));
    changed = Array.from({ length: count }, (_, i) => i).filter(
      (i) => groupOf(i) >= 0 && picture.groups.side[groupOf(i)] !== BOTH,
    );
  }
  const along = scene.turned ? scene.x : scene.y;
  let best = { item: -1, seen: -1 };
  for (const item of changed.sort((a, b) => along[a] - along[b]).slice(0, MOST_CHANGES)) {
    const seen = inBothPanes(scene, view, inside(scene, view, camera(scene, view, fitting(scene, view, item))));
    if (seen > best.seen) best = { item, seen };
    if (seen >= READABLE) break;
  }
  return best.item;
}

/** The number of items that are wholly in view in the pane with fewer of them, less where they are drawn smaller. */
function inBothPanes(scene: Scene, view: Size, camera: Camera): number {
  const seen = [0, 0];
  for (let i = 0; i < scene.visible.count; i++)
    if (shows(scene, view, camera, i)) for (const s of [0, 1]) seen[s] += (scene.visible.side[i] >> s) & 1;
  return Math.min(...seen) * camera.scale;
}

/** Whether a camera shows a whole item, large enough to read its name. */
export function shows(scene: Scene, view: Size, { x, y, scale }: Camera, item: number): boolean {
  const across = view.width / scale / 2 - scene.size.width[item] / 2;
  const down = view.height / scale / 2 - scene.size.height[item] / 2;
  return scale >= WHOLE_SCALE * 0.9 && Math.abs(scene.x[item] - x) <= across && Math.abs(scene.y[item] - y) <= down;
}

/** One item's interval along the flow and across it. */
interface Span {
  start: number;
  end: number;
  left: number;
  right: number;
}

/** The first window along the flow that has enough items to read, or the fullest one. */
function beginning(scene: Scene, view: Size): Camera {
  const flow = scene.turned
    ? { breadth: scene.height, room: view.height, length: view.width }
    : { breadth: scene.width, room: view.width, length: view.height };
  const scale = Math.max(READING_SCALE, Math.min(1, (flow.room - 2 * MARGIN) / Math.max(1, flow.breadth)));
  const [room, length] = [(flow.room - MARGIN) / scale, (flow.length - MARGIN) / scale];
  const spans = spansOf(scene);
  const input = firstInput(scene);
  const first = input < 0 ? flow.breadth / 2 : (scene.turned ? scene.y : scene.x)[input];
  const enough = Math.min(ENOUGH, spans.length);
  let best = { count: 0, start: 0, middle: flow.breadth / 2 };
  const starts = [...new Set(spans.map((span) => span.start))].slice(0, MOST_STARTS);
  for (const start of starts) {
    const band = spans.filter((span) => span.start >= start && span.end <= start + length);
    const found = fullest(band, room, enough, first);
    if (found.count > best.count) best = { ...found, start };
    if (best.count >= enough) break;
  }
  const along = best.start + (flow.length / 2 - MARGIN) / scale;
  const [x, y] = scene.turned ? [along, best.middle] : [best.middle, along];
  return inside(scene, view, { x, y, scale });
}

/** All items in the order of the flow. */
function spansOf(scene: Scene): Span[] {
  const [along, across] = scene.turned ? [scene.x, scene.y] : [scene.y, scene.x];
  const { width, height } = scene.size;
  const [long, wide] = scene.turned ? [width, height] : [height, width];
  return Array.from({ length: scene.visible.count }, (_, i) => ({
    start: along[i] - long[i] / 2,
    end: along[i] + long[i] / 2,
    left: across[i] - wide[i] / 2,
    right: across[i] + wide[i] / 2,
  })).sort((a, b) => a.start - b.start);
}

/** The window across the flow with the most items; of those with enough, the one nearest to the first input. */
function fullest(band: Span[], room: number, enough: number, first: number): { count: number; middle: number } {
  const sorted = [...band].sort((a, b) => a.left - b.left);
  let best = { count: 0, middle: first };
  sorted.forEach(({ left }, from) => {
    let [count, right] = [0, left];
    for (let i = from; i < sorted.length && sorted[i].left <= left + room; i++) {
      if (sorted[i].right > left + room) continue;
      count++;
      right = Math.max(right, sorted[i].right);
    }
    const middle = (left + right) / 2;
    const [more, was] = [Math.min(count, enough), Math.min(best.count, enough)];
    if (more > was || (more === was && Math.abs(middle - first) < Math.abs(best.middle - first)))
      best = { count, middle };
  });
  return best;
}

/** The first parameter of the function that is drawn: by custom the data, where a reader begins. */
function firstInput(scene: Scene): number {
  const { picture } = scene.visible;
  for (let u = 0; u < picture.nodeCount; u++) {
    const s = sideOf(picture, u, 0);
    const item = scene.visible.itemOf[u];
    const own = item >= 0 && scene.visible.node[item] === u;
    if (own && picture.sides[s].kind[picture.id[s][u]] === Kind.param) return item;
  }
  return -1;
}

/** The camera moved so that no part of the pane is beyond the scene where the scene is larger than the pane. */
function inside(scene: Scene, view: Size, { x, y, scale }: Camera): Camera {
  const within = (at: number, length: number, room: number) => {
    const half = room / 2 / scale - MARGIN / scale;
    return length <= 2 * half ? length / 2 : Math.min(length - half, Math.max(half, at));
  };
  return { x: within(x, scene.width, view.width), y: within(y, scene.height, view.height), scale };
}
