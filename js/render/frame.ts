/** One pane's picture at one moment, and the arithmetic from the world to its pixels. */
import { type Camera, FULL_SCALE, type Size } from "./camera.ts";
import { type Look } from "./look.ts";
import { type Earlier } from "./motion.ts";
import { type Scene } from "./scene.ts";
import { type Ruler } from "./text.ts";
import { type Theme } from "./theme.ts";

export interface Frame {
  scene: Scene;
  camera: Camera;
  view: Size;
  theme: Theme;
  ruler: Ruler;
  look: Look;
  /** Bits of the sides drawn, and the side whose text is shown where a node is on both. */
  sides: number;
  textSide: 0 | 1;
  /** 0 at the old places, 1 at the new ones. */
  t: number;
  earlier: Earlier | null;
}

/** How much of a node can be read at this zoom. */
export type Detail = "box" | "name" | "full";

export function detail(scale: number): Detail {
  return scale >= FULL_SCALE ? "full" : scale >= 0.24 ? "name" : "box";
}

/** Screen position of a world point; in double precision, since a deep graph is millions of pixels high. */
export function sx(f: Frame, x: number): number {
  return (x - f.camera.x) * f.camera.scale + f.view.width / 2;
}

export function sy(f: Frame, y: number): number {
  return (y - f.camera.y) * f.camera.scale + f.view.height / 2;
}

/** How far an item still is from its new place, in world pixels. */
export function lag(f: Frame, item: number): [number, number] {
  if (f.t >= 1 || !f.earlier) return [0, 0];
  const dx = f.earlier.seed.x[item] - f.scene.x[item];
  const dy = f.earlier.seed.y[item] - f.scene.y[item];
  return Number.isNaN(dx) || Number.isNaN(dy) ? [0, 0] : [dx * (1 - f.t), dy * (1 - f.t)];
}

/** Where an item's middle is on the screen. */
export function centre(f: Frame, item: number): [number, number] {
  const [dx, dy] = lag(f, item);
  return [sx(f, f.scene.x[item] + dx), sy(f, f.scene.y[item] + dy)];
}

/** New items fade in while the others glide, but faster: they are what one looks for, and in the first frame already half there. */
export function presence(f: Frame, item: number): number {
  return f.t >= 1 || !f.earlier || !Number.isNaN(f.earlier.seed.x[item]) ? 1 : Math.min(1, 3 * f.t);
}

/** The world rectangle on screen, a little larger while things still move. */
export function worldWindow(f: Frame): [number, number, number, number] {
  const margin = f.t < 1 ? 1 : 0.05;
  const w = (f.view.width / f.camera.scale) * (0.5 + margin);
  const h = (f.view.height / f.camera.scale) * (0.5 + margin);
  return [f.camera.x - w, f.camera.y - h, f.camera.x + w, f.camera.y + h];
}

/** What the overlay says of an item, or of an open group, in this pane. */
export function overlayValue(f: Frame, of: "items" | "groups", i: number): number | undefined {
  const values = f.look.values;
  return values[f.textSide]?.[of].get(i) ?? (f.sides === 3 ? values[0]?.[of].get(i) : undefined);
}

/** The diff mark an item shows in this pane; the overlay shows what was removed beside what was added. */
export function markOf(f: Frame, item: number): number {
  const { picture, node } = f.scene.visible;
  if (!picture.compares) return 0;
  const u = node[item];
  if (u >= 0) {
    const own = f.sides & picture.side[u];
    if (own === 3) return picture.mark[1][u] || picture.mark[0][u];
    return picture.mark[own === 2 ? 1 : 0][u];
  }
  return 0;
}
