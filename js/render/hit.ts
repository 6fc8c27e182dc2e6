/** What is under the pointer: a badge, a node, a group's header or chevron, an edge. */
import { toWorld } from "./camera.ts";
import { BADGE_GAP, BADGE_HEIGHT, badgeRows, contentOf, HEADER, PAD } from "./content.ts";
import { detail, type Frame } from "./frame.ts";
import { itemsIn, type Scene } from "./scene.ts";

export interface Hit {
  item: number;
  /** The picture's node of a badge under the pointer, or -1. */
  badge: number;
  /** Group (in the picture's numbering) whose header, or whose collapsed box, is under the pointer. */
  group: number;
  chevron: boolean;
  edge: number;
}

export const NOTHING: Hit = { item: -1, badge: -1, group: -1, chevron: false, edge: -1 };

/** What is drawn where: the parts of a frame that matter to a pointer. */
type Seen = Pick<Frame, "scene" | "camera" | "view" | "sides" | "ruler">;

export function hit(seen: Seen, px: number, py: number): Hit {
  const { scene, camera, view, sides } = seen;
  const [x, y] = toWorld(camera, view, px, py);
  const item = Math.max(-1, ...itemsIn(scene, sides, [x, y, x, y]));
  if (item >= 0) return onItem(seen, item, x, y);
  const group = onHeader(scene, camera.scale, x, y, sides);
  if (group) return group;
  return { ...NOTHING, edge: nearestEdge(scene, x, y, 5 / camera.scale, sides) };
}

function onItem(seen: Seen, item: number, x: number, y: number): Hit {
  const { scene, camera } = seen;
  const { visible } = scene;
  const group = visible.collapsedGroup[item];
  const left = scene.x[item] - scene.size.width[item] / 2;
  const top = scene.y[item] - scene.size.height[item] / 2;
  const chevron = group >= 0 && detail(camera.scale) === "full" && x < left + PAD + 14 && y < top + 28;
  return { item, badge: onBadge(seen, item, x - left, y - top), group, chevron, edge: -1 };
}

function onBadge({ scene, camera, sides, ruler }: Seen, item: number, x: number, y: number): number {
  if (detail(camera.scale) !== "full" || !scene.visible.badges.has(item)) return -1;
  const content = contentOf(scene.visible, item, sides === 1 ? 0 : 1);
  const top = 7 + 18 + 15 * content.lines.length + 2;
  const rows = badgeRows(content, scene.size.width[item] - 2 * PAD, ruler);
  const row = rows[Math.floor((y - top) / (BADGE_HEIGHT + BADGE_GAP))];
  const found = row?.find((at) => x - PAD >= at.x && x - PAD <= at.x + at.width);
  return found ? content.badges[found.index].node : -1;
}

function onHeader(scene: Scene, scale: number, x: number, y: number, sides: number): Hit | null {
  const { visible } = scene;
  const groupBox = scene.sideBox(sides);
  // From afar a header is a pixel or two; a whole band at the top stands in for it.
  const height = Math.max(HEADER, 12 / scale);
  for (let i = visible.open.length - 1; i >= 0; i--) {
    const g = visible.open[i];
    if (!(visible.picture.groups.side[g] & sides)) continue;
    const [gx, gy, gw, gh] = groupBox.subarray(4 * i, 4 * i + 4);
    if (x < gx || x > gx + gw || y < gy || y > gy + Math.min(height, gh)) continue;
    return { ...NOTHING, group: g, chevron: x < gx + PAD + 14 };
  }
  return null;
}

function nearestEdge(scene: Scene, x: number, y: number, reach: number, sides: number): number {
  const { visible, points, pointOffset } = scene;
  let best = -1;
  let cost = reach;
  scene.edges.query(x - reach, y - reach, x + reach, y + reach, (e) => {
    if (!(visible.edgeSide[e] & sides)) return;
    for (let p = pointOffset[e]; p + 1 < pointOffset[e + 1]; p++) {
      const [x0, y0, x1, y1] = points.subarray(2 * p, 2 * p + 4);
      const d = scene.turned ? distance(y, x, y0, x0, y1, x1) : distance(x, y, x0, y0, x1, y1);
      if (d < cost) {
        cost = d;
        best = e;
      }
    }
  });
  return best;
}

/** To the drawn curve, which leaves and arrives vertically (turned, the callers swap x and y); sampled, since a pixel's accuracy is enough. */
function distance(x: number, y: number, x0: number, y0: number, x1: number, y1: number): number {
  if (Math.abs(x1 - x0) < 1) {
    const inside = Math.min(Math.max(y, Math.min(y0, y1)), Math.max(y0, y1));
    return Math.hypot(x - x0, y - inside);
  }
  let best = Infinity;
  for (let i = 0; i <= 12; i++) {
    const t = i / 12;
    const bend = 3 * t * t - 2 * t * t * t;
    const cy = y0 + (y1 - y0) * (1.5 * t * (1 - t) * (1 - t) + 1.5 * t * t * (1 - t) + t * t * t);
    best = Math.min(best, Math.hypot(x - (x0 + (x1 - x0) * bend), y - cy));
  }
  return best;
}
