/** The first view of a scene: all of it where that can be read, else a part whose boxes are whole: its beginning, or its first change. */
import { changedNodes } from "../graph/neighbours.ts";
import { BOTH, kindOf } from "../graph/picture.ts";
import { Kind } from "../model/messages.ts";
import { type Box, type Camera, fit, type Size, WHOLE_SCALE } from "./camera.ts";
import { HEADER } from "./content.ts";
import { itemsOf } from "./look.ts";
import { itemsIn, type Scene } from "./scene.ts";

/** Items that are tried as the first one to show, and items in view that make one readable, its own among them. */
const MOST_TRIED = 8;
const READABLE = 4;
const MARGIN = 24;
/** Around the boxes at the edges of a part, in world pixels: less than half of what is between neighbours (question.ts). */
const GAP = 10;
const SCALES = [1, 0.95, 0.9, 0.86, 0.82, 0.78, 0.74, 0.7, 0.66, 0.6, 0.55, 0.5, 0.46, 0.43, 0.4, WHOLE_SCALE];
/** The scale at which a box that is in the way may be left out of view. */
const CLOSEST = 1.25;
/** Places that are tried on an axis. */
const MOST_PLACES = 160;
/** What a view is worth: each cut box costs, and each of the rest is worth no more than its most. */
const WORTH = { cut: -6, cover: 10, neighbour: 1, seen: 0.5, scale: 3 };
const MOST = { cover: 0.5, neighbour: 3, seen: 6 };
const PARTS = ["cover", "neighbour", "seen"] as const;

export function extent(scene: Scene): Box {
  return { x: 0, y: 0, width: scene.width, height: scene.height };
}

/** Whether all of a scene can be read at once. */
export function fitsWhole(scene: Scene, view: Size): boolean {
  return fit(extent(scene), view, 1, MARGIN).scale >= WHOLE_SCALE;
}

/** Where nothing that changed is in view at the beginning, the first change is what a reader looks for. */
export function openingCamera(scene: Scene, view: Size): Camera {
  if (fitsWhole(scene, view)) return fit(extent(scene), view, 1, MARGIN);
  const input = firstInput(scene);
  const start = firstReadable(scene, view, [input, ...alongFlow(scene, [...joinedTo(scene, input)])]).camera;
  const changed = changedItems(scene);
  if (changed.length === 0 || changed.some((i) => shows(scene, view, start, i))) return start;
  return firstReadable(scene, view, changed).camera;
}

/** An item and what is around it, with as few boxes cut as can be: at the largest scale that has enough in view. */
export function framed(scene: Scene, view: Size, item: number): Camera {
  const most = worthOfParts({ cover: 1, neighbour: joinedTo(scene, item).size, seen: scene.visible.count });
  const at = (scale: number) => placed(scene, view, item, scale);
  const better = (a: Place, b: Place) => (b.worth > a.worth ? b : a);
  let best = at(SCALES[0]);
  for (const scale of SCALES.slice(1)) if (best.worth < most + WORTH.scale * scale) best = better(best, at(scale));
  // A box that is cut at the side is out of view where the window is just as wide as the whole ones.
  const { whole, cut } = best;
  const [width, height] = [whole.right - whole.left + 2 * GAP, whole.bottom - whole.top + 2 * GAP];
  if (cut > 0)
    for (const scale of [view.width / width, view.height / height])
      if (scale > WHOLE_SCALE && scale < CLOSEST) best = better(best, at(scale));
  return best.camera;
}

interface Place {
  camera: Camera;
  worth: number;
  /** Boxes that are cut, and what holds the others. */
  cut: number;
  whole: Edges;
}

/** The best place at one scale; it holds an item, whole where there is the room. */
function placed(scene: Scene, view: Size, item: number, scale: number): Place {
  const window = { width: view.width / scale, height: view.height / scale };
  const [x, y] = [scene.x[item], scene.y[item]];
  const around = [x - window.width, y - window.height, x + window.width, y + window.height] as const;
  const near = itemsIn(scene, BOTH, around).map((i) => ({ ...boxOf(scene, i), item: i, side: scene.visible.side[i] }));
  const joined = joinedTo(scene, item);
  const own = boxOf(scene, item);
  const panes = panesOf(scene, near);
  const boxes = [...near, ...headersIn(scene, around)];
  const across = axis(
    scene.width,
    window.width,
    own.left,
    own.right,
    boxes.map(({ left, right }) => [left, right]),
  );
  const down = axis(
    scene.height,
    window.height,
    own.top,
    own.bottom,
    boxes.map(({ top, bottom }) => [top, bottom]),
  );
  let best = { left: across[0], top: down[0], worth: -Infinity, cut: 0, whole: NOTHING };
  const consider = (left: number, top: number) => {
    const away = Math.hypot(left + window.width / 2 - x, top + window.height / 2 - y) / (window.width + window.height);
    const edges = { left, top, right: left + window.width, bottom: top + window.height };
    const found = worthOf(panes, boxes, joined, edges);
    const worth = found.worth - away / 2;
    if (worth > best.worth) best = { ...found, left, top, worth };
  };
  // One axis after the other: all pairs of places would take seconds.
  for (let round = 0; round < 2; round++) {
    for (const top of down) consider(best.left, top);
    for (const left of across) consider(left, best.top);
  }
  const camera = { x: best.left + window.width / 2, y: best.top + window.height / 2, scale };
  return { camera, worth: best.worth + WORTH.scale * scale, cut: best.cut, whole: best.whole };

  /** Where a window may start so that it holds `from` to `to`: at an edge of some box, and not beyond the scene's ends. */
  function axis(length: number, room: number, from: number, to: number, edges: number[][]): number[] {
    const margin = MARGIN / scale;
    if (length + 2 * margin <= room) return [(length - room) / 2];
    const within = (at: number) => Math.min(length + margin - room, Math.max(-margin, at));
    const first = within((from + to - room) / 2);
    const holds = (at: number) => at <= from && to <= at + room;
    const places = new Set(edges.flatMap(([a, b]) => [within(a - GAP), within(b + GAP - room)]).filter(holds));
    const sorted = [...places].sort((a, b) => Math.abs(a - first) - Math.abs(b - first));
    return [first, ...sorted.slice(0, MOST_PLACES)];
  }
}

function joinedTo({ visible, edgesOf }: Scene, item: number): Set<number> {
  return new Set(edgesOf(item).map((e) => (visible.source[e] === item ? visible.target[e] : visible.source[e])));
}

interface Edges {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** An item, or with -1 the name of an open group, and the sides that draw it. */
interface Near extends Edges {
  item: number;
  side: number;
}

function boxOf({ boxes }: Scene, i: number): Edges {
  const [left, top, right, bottom] = boxes.subarray(4 * i, 4 * i + 4);
  return { left, top, right, bottom };
}

/** The names of the open groups that touch a rectangle. */
function headersIn({ visible: { open, picture }, groupBox }: Scene, window: readonly number[]): Near[] {
  const found: Near[] = [];
  for (let i = 0; i < open.length; i++) {
    const top = groupBox[4 * i + 1];
    const bottom = top + HEADER;
    // In a large graph nearly all are above or below.
    if (top > window[3] || bottom < window[1]) continue;
    const left = groupBox[4 * i];
    const right = left + Math.min(groupBox[4 * i + 2], 4 * HEADER);
    if (left > window[2] || right < window[0]) continue;
    found.push({ left, top, right, bottom, item: -1, side: picture.groups.side[open[i]] });
  }
  return found;
}

/** What a window is worth, in the pane where it is worth less. */
function worthOf(
  panes: readonly Pane[],
  boxes: readonly Near[],
  joined: ReadonlySet<number>,
  window: Edges,
): Omit<Place, "camera"> {
  const held = panes.map(() => ({ seen: 0, neighbour: 0, within: { ...NOTHING } }));
  let cut = 0;
  for (const box of boxes) {
    const { left, top, right, bottom, item, side } = box;
    if (right <= window.left || left >= window.right || bottom <= window.top || top >= window.bottom) continue;
    if (left < window.left || right > window.right || top < window.top || bottom > window.bottom) {
      cut++;
      continue;
    }
    for (let s = 0; item >= 0 && s < held.length; s++) {
      if (!(side & panes[s].side)) continue;
      held[s].seen++;
      if (joined.has(item)) held[s].neighbour++;
      extend(held[s].within, box);
    }
  }
  const worths = held.map(({ seen, neighbour, within }, s) => {
    const { around } = panes[s];
    const share = (from: "left" | "top", to: "right" | "bottom") =>
      Math.max(0, within[to] - within[from]) / Math.min(window[to] - window[from], around[to] - around[from]);
    const cover = seen > 0 ? share("left", "right") * share("top", "bottom") : 0;
    return worthOfParts({ cover, neighbour, seen });
  });
  const whole = { ...NOTHING };
  for (const { within } of held) extend(whole, within);
  return { worth: Math.min(...worths) + WORTH.cut * cut, cut, whole };
}

function worthOfParts(parts: Record<(typeof PARTS)[number], number>): number {
  return PARTS.reduce((sum, name) => sum + WORTH[name] * Math.min(parts[name], MOST[name]), 0);
}

/** The sides that a pane draws, and the room that they take around an item. */
interface Pane {
  side: number;
  around: Edges;
}

function panesOf(scene: Scene, near: readonly Near[]): Pane[] {
  const sides = scene.visible.picture.compares ? [1, 2] : [3];
  return sides.map((side) => {
    const around = { ...NOTHING };
    for (const box of near) if (box.side & side) extend(around, box);
    return { side, around };
  });
}

const NOTHING: Edges = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };

function extend(edges: Edges, { left, top, right, bottom }: Edges): void {
  edges.left = Math.min(edges.left, left);
  edges.top = Math.min(edges.top, top);
  edges.right = Math.max(edges.right, right);
  edges.bottom = Math.max(edges.bottom, bottom);
}

/** What a pass changed, else what it grouped anew, along the flow. */
function changedItems(scene: Scene): number[] {
  const { picture, collapsedGroup, open, parent, count } = scene.visible;
  if (!picture.compares) return [];
  const changed = itemsOf(scene, changedNodes(picture));
  const groupOf = (i: number) => (collapsedGroup[i] >= 0 ? collapsedGroup[i] : (open[parent[i]] ?? -1));
  const regrouped = (i: number) => groupOf(i) >= 0 && picture.groups.side[groupOf(i)] !== BOTH;
  return alongFlow(scene, changed.length > 0 ? changed : Array.from({ length: count }, (_, i) => i).filter(regrouped));
}

function alongFlow(scene: Scene, items: number[]): number[] {
  const along = scene.turned ? scene.x : scene.y;
  return items.sort((a, b) => along[a] - along[b]);
}

/** The first change that can be read in both panes; -1 where nothing changed. */
export function firstChange(scene: Scene, view: Size): number {
  const changed = changedItems(scene);
  return changed.length > 0 ? firstReadable(scene, view, changed).item : -1;
}

/** The first of some items that is framed with enough to read in both panes, or the one with the most. */
function firstReadable(scene: Scene, view: Size, items: readonly number[]): { item: number; camera: Camera } {
  let best: { item: number; camera: Camera; seen: number } | null = null;
  for (const item of items.slice(0, MOST_TRIED)) {
    const camera = framed(scene, view, item);
    const seen = inBothPanes(scene, view, camera);
    if (!best || seen > best.seen) best = { item, camera, seen };
    if (seen >= READABLE) break;
  }
  return best!;
}

/** The number of items that are wholly in view in the pane with fewer of them. */
function inBothPanes(scene: Scene, view: Size, camera: Camera): number {
  const seen = [0, 0];
  const [x, y] = [view.width / 2 / camera.scale, view.height / 2 / camera.scale];
  for (const i of itemsIn(scene, BOTH, [camera.x - x, camera.y - y, camera.x + x, camera.y + y]))
    if (shows(scene, view, camera, i)) for (const s of [0, 1]) seen[s] += (scene.visible.side[i] >> s) & 1;
  return scene.visible.picture.compares ? Math.min(...seen) : Math.max(...seen);
}

/** Whether a camera shows a whole item, large enough to read its name. */
export function shows(scene: Scene, view: Size, { x, y, scale }: Camera, item: number): boolean {
  const across = view.width / scale / 2 - scene.size.width[item] / 2;
  const down = view.height / scale / 2 - scene.size.height[item] / 2;
  return scale >= WHOLE_SCALE * 0.9 && Math.abs(scene.x[item] - x) <= across && Math.abs(scene.y[item] - y) <= down;
}

/** Where the first parameter is drawn or read: by custom the data, where a reader begins. */
function firstInput(scene: Scene): number {
  const { picture, itemOf } = scene.visible;
  for (let u = 0; u < picture.nodeCount; u++) {
    if (itemOf[u] >= 0 && kindOf(picture, u) === Kind.param) return itemOf[u];
  }
  return 0;
}
