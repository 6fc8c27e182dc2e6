/** What is selected, found, linked and measured, from nodes of the picture to items of the present scene. */
import { type Look } from "./look.ts";
import { notesInItems, type Notes } from "./notes.ts";
import { type Overlay } from "./overlay.ts";
import { type Scene } from "./scene.ts";

export interface Chosen {
  selection: readonly number[];
  hoveredNode: number;
  found: readonly number[] | null;
  overlay: Overlay | null;
  notes: Notes | null;
}

/** Looking up partners of more than this would cost a frame, and mark half the picture. */
const MOST_LINKED = 50;

export function itemsOf(scene: Scene, nodes: readonly number[]): number[] {
  return [...new Set(nodes.map((u) => scene.visible.itemOf[u] ?? -1).filter((i) => i >= 0))];
}

export function inItems(look: Look, scene: Scene, chosen: Chosen): Look {
  const { visible } = scene;
  const sources = [...chosen.selection.slice(0, MOST_LINKED), chosen.hoveredNode];
  return {
    ...look,
    selected: new Set(itemsOf(scene, chosen.selection)),
    hovered: look.hovered < visible.count ? look.hovered : -1,
    hoveredEdge: look.hoveredEdge < visible.edgeCount ? look.hoveredEdge : -1,
    linked: new Set(itemsOf(scene, sources.flatMap((u) => visible.picture.partners.get(u) ?? []))),
    found: chosen.found ? new Set(itemsOf(scene, chosen.found)) : null,
    ...overlaid(scene, chosen.overlay),
    notes: chosen.notes && notesInItems(chosen.notes, scene),
  };
}

/** Values per item, and the scale over what is drawn: a collapsed group's sum must not run off its end. */
function overlaid(scene: Scene, overlay: Overlay | null): Pick<Look, "overlay" | "values"> {
  if (!overlay) return { overlay: null, values: null };
  const values = new Map<number, number>();
  for (const [id, value] of overlay.values) {
    const u = scene.visible.picture.node[0][id];
    const item = u === undefined ? -1 : scene.visible.itemOf[u];
    // A folded constant is found on its consumer, but its value is not its consumer's.
    if (item >= 0 && (scene.visible.node[item] < 0 || scene.visible.node[item] === u)) values.set(item, (values.get(item) ?? 0) + value);
  }
  let [low, high] = [Infinity, -Infinity];
  for (const value of values.values()) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return { overlay: low <= high ? { ...overlay, low, high } : overlay, values };
}
