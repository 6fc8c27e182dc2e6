/** From one scene to the next: where each item was, so that what moves glides and what is watched stays put. */
import { carriedGroups } from "../graph/carry.ts";
import { type Camera, type Size } from "./camera.ts";
import { type Seed } from "./question.ts";
import { type Scene } from "./scene.ts";

export interface Earlier {
  /** Place of each new item in the old scene, NaN where it was not there. */
  seed: Seed;
  /** Old box of each new open group, NaN where there was none. */
  boxes: Float32Array;
}

/** `nodes[u]` is the old picture's node that became node u of the new one, or -1. */
export function earlier(old: Scene, next: { visible: Scene["visible"] }, nodes: Int32Array): Earlier {
  const { visible } = next;
  const seed = { x: new Float32Array(visible.count).fill(NaN), y: new Float32Array(visible.count).fill(NaN) };
  const boxes = new Float32Array(4 * visible.open.length).fill(NaN);
  const same = visible.picture === old.visible.picture;
  const groups = same ? null : carriedGroups(old.visible.picture, visible.picture, nodes);
  const oldGroup = (g: number) => (groups ? groups[g] : g);
  const oldOpen = new Map<number, number>();
  old.visible.open.forEach((g, i) => {
    oldOpen.set(g, i);
  });
  const oldItem = new Map<number, number>();
  old.visible.collapsedGroup.forEach((g, i) => {
    if (g >= 0) oldItem.set(g, i);
  });

  for (let i = 0; i < visible.count; i++) {
    const u = visible.node[i];
    if (u >= 0) {
      const from = nodes[u] >= 0 ? old.visible.itemOf[nodes[u]] : -1;
      // Only if it was drawn as itself: where a group has just been opened, its inside has no place yet.
      if (from < 0 || old.visible.node[from] !== nodes[u]) continue;
      seed.x[i] = old.x[from];
      seed.y[i] = old.y[from];
      continue;
    }
    const g = oldGroup(visible.collapsedGroup[i]);
    const item = oldItem.get(g);
    const box = oldOpen.get(g);
    if (item !== undefined) {
      seed.x[i] = old.x[item];
      seed.y[i] = old.y[item];
    } else if (box !== undefined) {
      seed.x[i] = old.groupBox[4 * box] + old.groupBox[4 * box + 2] / 2;
      seed.y[i] = old.groupBox[4 * box + 1] + old.groupBox[4 * box + 3] / 2;
    }
  }
  visible.open.forEach((g, i) => {
    const was = oldGroup(g);
    const box = oldOpen.get(was);
    const item = oldItem.get(was);
    if (box !== undefined) boxes.set(old.groupBox.subarray(4 * box, 4 * box + 4), 4 * i);
    else if (item !== undefined) {
      const [w, h] = [old.size.width[item], old.size.height[item]];
      boxes.set([old.x[item] - w / 2, old.y[item] - h / 2, w, h], 4 * i);
    }
  });
  return { seed, boxes };
}

/** How far a group moved: the camera moves as far, so that on the screen it does not move at all. */
export function shift(next: Scene, before: Earlier, group: number): [number, number] | null {
  const at = 4 * next.visible.open.indexOf(group);
  if (at >= 0 && !Number.isNaN(before.boxes[at]))
    return [next.groupBox[at] - before.boxes[at], next.groupBox[at + 1] - before.boxes[at + 1]];
  const item = next.visible.collapsedGroup.indexOf(group);
  return item >= 0 ? moved(next, before, item) : null;
}

export function moved(next: Scene, before: Earlier, item: number): [number, number] | null {
  const dx = next.x[item] - before.seed.x[item];
  const dy = next.y[item] - before.seed.y[item];
  return Number.isNaN(dx) || Number.isNaN(dy) ? null : [dx, dy];
}

/** The item that was nearest to a point and is still there: what a person was probably looking at. */
export function nearestKept(next: Scene, before: Earlier, x: number, y: number): number {
  let best = -1;
  let cost = Infinity;
  for (let i = 0; i < next.visible.count; i++) {
    const d = (before.seed.x[i] - x) ** 2 + (before.seed.y[i] - y) ** 2;
    if (d < cost) {
      cost = d;
      best = i;
    }
  }
  return best;
}

/** Pixels on the screen that cannot be seen. */
const SLIGHT = 0.5;

/** Whether a glide from one camera to the other would show nothing: what is or was in view moves as they do. */
export function looksStill(next: Scene, before: Earlier, view: Size, from: Camera, to: Camera): boolean {
  if (from.scale !== to.scale) return false;
  const slight = SLIGHT / to.scale;
  const [width, height] = [view.width / to.scale, view.height / to.scale];
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const away = (x: number, y: number, w: number, h: number) =>
    2 * Math.abs(x - to.x) > width + w || 2 * Math.abs(y - to.y) > height + h;
  const { seed, boxes } = before;
  for (let i = 0; i < next.visible.count; i++) {
    const [w, h] = [next.size.width[i], next.size.height[i]];
    const [x, y] = [seed.x[i] + dx, seed.y[i] + dy];
    // NaN: what is new comes from nowhere.
    const moves = Math.abs(x - next.x[i]) > slight || Math.abs(y - next.y[i]) > slight;
    if (moves && !(away(next.x[i], next.y[i], w, h) && away(x, y, w, h))) return false;
  }
  for (let k = 0; k < boxes.length; k += 4) {
    const [x, y, w, h] = next.groupBox.subarray(k, k + 4);
    if (Number.isNaN(boxes[k]) || away(x + w / 2, y + h / 2, w, h)) continue;
    const [left, top] = [boxes[k] + dx, boxes[k + 1] + dy];
    const off = [left - x, top - y, left + boxes[k + 2] - x - w, top + boxes[k + 3] - y - h];
    if (off.some((by) => Math.abs(by) > slight)) return false;
  }
  return true;
}

/** Slows down towards the end, so that the eye can follow where things come to rest. */
export function ease(t: number): number {
  return 1 - (1 - t) ** 3;
}
