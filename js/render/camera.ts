/** Where one looks: the world point in the middle of the pane, and screen pixels per world pixel. */
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

const MIN_SCALE = 0.0001;
const MAX_SCALE = 4;
/** From this scale on, boxes show all that they have (frame.ts). */
export const FULL_SCALE = 0.66;
/** All of a graph is shown at once down to this scale, at which boxes still have their operator's name (frame.ts). */
export const WHOLE_SCALE = 0.36;

function clampScale(scale: number): number {
  return Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
}

export function toScreen(camera: Camera, view: Size, x: number, y: number): [number, number] {
  return [(x - camera.x) * camera.scale + view.width / 2, (y - camera.y) * camera.scale + view.height / 2];
}

export function toWorld(camera: Camera, view: Size, x: number, y: number): [number, number] {
  return [(x - view.width / 2) / camera.scale + camera.x, (y - view.height / 2) / camera.scale + camera.y];
}

/** Zooms by a factor so that the world point under the screen point (x, y) stays under it. */
export function zoomAt(camera: Camera, view: Size, x: number, y: number, factor: number): Camera {
  const [wx, wy] = toWorld(camera, view, x, y);
  const scale = clampScale(camera.scale * factor);
  return { x: wx - (x - view.width / 2) / scale, y: wy - (y - view.height / 2) / scale, scale };
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The camera that shows a whole box with a margin, no closer than `closest`. */
export function fit(box: Box, view: Size, closest = 1, margin = 24): Camera {
  const across = (view.width - 2 * margin) / Math.max(1, box.width);
  const down = (view.height - 2 * margin) / Math.max(1, box.height);
  return {
    x: box.x + box.width / 2,
    y: box.y + box.height / 2,
    scale: clampScale(Math.min(closest, Math.max(MIN_SCALE, Math.min(across, down)))),
  };
}

export function between(a: Camera, b: Camera, t: number): Camera {
  // Scale moves by its logarithm: halving and doubling should look equally fast.
  const scale = Math.exp(Math.log(a.scale) * (1 - t) + Math.log(b.scale) * t);
  return { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t, scale };
}
