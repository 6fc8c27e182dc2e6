/** The graph from the keyboard. */
import { between, neighbourhood, step, stream, type Arrow } from "../graph/neighbours.ts";
import { type Stage } from "../render/stage.ts";

/** Where the data flows to the right, so do the keys that follow it. */
const TURNED: Record<Arrow, Arrow> = { right: "down", left: "up", down: "right", up: "left" };

/** What a key does in the graph; false where it does nothing here. */
export function graphKey(stage: Stage, key: string, sides: number): boolean {
  switch (key) {
    case "ArrowUp": case "ArrowDown": case "ArrowLeft": case "ArrowRight":
      walk(stage, key.slice(5).toLowerCase() as Arrow, sides);
      return true;
    case "Enter": return enter(stage);
    case "f": stage.fit(); return true;
    case "h": stage.home(); return true;
    case "s": stage.fitItems(stage.look.selected); return true;
    case "+": case "=": stage.zoom(1.25); return true;
    case "-": stage.zoom(0.8); return true;
    case "Escape": return escape(stage);
    case "[": return selectStream(stage, "up", sides);
    case "]": return selectStream(stage, "down", sides);
    case "p": return selectPaths(stage, sides);
    case "e": return selectAround(stage);
    case "t": stage.setEdges(stage.look.edges === "dtype" ? "diff" : "dtype"); return true;
    default: return false;
  }
}

/** Everything that the selection is computed from, or everything computed from it; false where nothing is selected. */
export function selectStream(stage: Stage, way: "up" | "down", sides: number): boolean {
  const { selection, picture } = stage;
  if (selection.length > 0) stage.select(stream(picture, selection, way, sides));
  return selection.length > 0;
}

/** One step more in every direction: as often as one likes. */
export function selectAround(stage: Stage): boolean {
  const { selection, picture } = stage;
  const near = neighbourhood(picture, selection, 1);
  if (selection.length > 0) stage.select([...near.keys()].filter((u) => near[u]));
  return selection.length > 0;
}

/** All nodes on a path from one selected node to another; false where there is none. */
export function selectPaths(stage: Stage, sides: number): boolean {
  const { selection, picture } = stage;
  const found = selection.length > 1 && selection.length <= 50 ? between(picture, selection, sides) : [];
  if (found.length > 0) stage.select(found);
  return found.length > 0;
}

function walk(stage: Stage, arrow: Arrow, sides: number): void {
  const { scene } = stage;
  if (!scene) return;
  const from = [...stage.look.selected].pop() ?? -1;
  const to = scene.turned ? step(scene.visible, scene.y, scene.x, from, TURNED[arrow], sides) : step(scene.visible, scene.x, scene.y, from, arrow, sides);
  if (to < 0) return;
  stage.select(nodesOf(stage, to));
  stage.follow(to);
}

/** Opens the selected group; closes the innermost one around a selected node. */
function enter(stage: Stage): boolean {
  const { scene, look } = stage;
  const item = [...look.selected].pop() ?? -1;
  if (!scene || item < 0) return false;
  const box = scene.visible.collapsedGroup[item];
  const around = scene.visible.parent[item] >= 0 ? scene.visible.open[scene.visible.parent[item]] : -1;
  if (box < 0 && around < 0) return false;
  stage.toggleGroup(box >= 0 ? box : around);
  return true;
}

function escape(stage: Stage): boolean {
  if (stage.look.found) { stage.setFound(null); return false; }
  if (stage.selection.length === 0) return false;
  stage.select([]);
  return true;
}

/** The picture's nodes that an item stands for. */
export function nodesOf(stage: Stage, item: number): number[] {
  const visible = stage.scene!.visible;
  if (visible.node[item] >= 0) return [visible.node[item]];
  if (visible.collapsedGroup[item] >= 0) return nodesIn(stage, visible.collapsedGroup[item]);
  return [...visible.itemOf.keys()].filter((u) => visible.itemOf[u] === item);
}

export function nodesIn(stage: Stage, group: number): number[] {
  const { picture } = stage;
  const out: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++) {
    for (let g = picture.group[u]; g >= 0; g = picture.groups.parent[g]) if (g === group) { out.push(u); break; }
  }
  return out;
}
