/** The graph from the keyboard. */
import { type Arrow, between, neighbourhood, step, stream } from "../graph/neighbours.ts";
import { groupsOf } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";

/** Where the data flows to the right, so do the keys that follow it. */
const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" } as const;
/** Of a pane: what a page key moves the view by. */
const PAGE = 0.8;
const TURNED: Record<Arrow, Arrow> = { right: "down", left: "up", down: "right", up: "left" };

/** What a key does in the graph; false where it does nothing here. */
export function graphKey(
  stage: Stage,
  { key, shiftKey }: Pick<KeyboardEvent, "key" | "shiftKey">,
  sides: number,
): boolean {
  switch (key) {
    case "ArrowUp":
    case "ArrowDown":
    case "ArrowLeft":
    case "ArrowRight":
      walk(stage, ARROWS[key], sides, shiftKey);
      return true;
    case "PageUp":
    case "PageDown":
      page(stage, key === "PageUp" ? 1 : -1, shiftKey);
      return true;
    case "Enter":
      return enter(stage);
    case "f":
      stage.fit();
      return true;
    case "h":
      stage.home();
      return true;
    case "s":
      stage.fitItems(stage.look.selected);
      return true;
    case "+":
    case "=":
      stage.zoom(1.25);
      return true;
    case "-":
      stage.zoom(0.8);
      return true;
    case "Escape":
      return goOut(stage);
    case "[":
      return selectStream(stage, "up", sides);
    case "]":
      return selectStream(stage, "down", sides);
    case "p":
      return selectPaths(stage, sides);
    case "e":
      return selectAround(stage);
    case "g":
      return selectGroup(stage);
    case "t":
      stage.setEdges(stage.look.edges === "dtype" ? "diff" : "dtype");
      return true;
    default:
      return false;
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

/** The innermost group around the last selected node that is not selected as a whole yet. */
function selectGroup(stage: Stage): boolean {
  const { selection, picture } = stage;
  const last = selection.at(-1);
  if (last === undefined) return false;
  const selected = new Set(selection);
  const whole = (g: number) => nodesIn(stage, g).every((u) => selected.has(u));
  const group = groupsOf(picture, last).find((g) => !whole(g));
  if (group !== undefined) stage.select(nodesIn(stage, group));
  return group !== undefined;
}

function page(stage: Stage, way: 1 | -1, sideways: boolean): void {
  const { width, height } = stage.view;
  stage.pan(sideways ? way * width * PAGE : 0, sideways ? 0 : way * height * PAGE);
}

/** To the next item; `more` adds it to the selection. */
function walk(stage: Stage, arrow: Arrow, sides: number, more = false): void {
  const scene = stage.current;
  if (!scene) return;
  const from = [...stage.look.selected].pop() ?? -1;
  const to = scene.turned
    ? step(scene.visible, scene.y, scene.x, from, TURNED[arrow], sides)
    : step(scene.visible, scene.x, scene.y, from, arrow, sides);
  if (to < 0) return;
  const nodes = nodesOf(stage, to);
  const reached = new Set(nodes);
  // Last, so that the next arrow starts from it.
  stage.select(more ? [...stage.selection.filter((u) => !reached.has(u)), ...nodes] : nodes);
  stage.follow(to);
}

/** Opens the selected group; closes the innermost one around a selected node. */
function enter(stage: Stage): boolean {
  const { current, look } = stage;
  const item = [...look.selected].pop() ?? -1;
  if (!current || item < 0) return false;
  const { collapsedGroup, parent, open } = current.visible;
  const group = [collapsedGroup[item], open[parent[item] ?? -1]].find((g) => g !== undefined && g >= 0);
  if (group === undefined) return false;
  stage.toggleGroup(group);
  return true;
}

function goOut(stage: Stage): boolean {
  if (stage.look.found) {
    stage.setFound(null);
    return false;
  }
  if (stage.selection.length === 0) return false;
  stage.select([]);
  return true;
}

/** The picture's nodes in an item. */
export function nodesOf(stage: Stage, item: number): number[] {
  const visible = stage.current?.visible;
  if (!visible) return [];
  const node = visible.node[item] ?? -1;
  if (node >= 0) return [node];
  const group = visible.collapsedGroup[item] ?? -1;
  if (group >= 0) return nodesIn(stage, group);
  return [...visible.itemOf.keys()].filter((u) => visible.itemOf[u] === item);
}

/** The nodes at both ends of an edge. */
export function endsOf(stage: Stage, edge: number): number[] {
  const visible = stage.current?.visible;
  return [visible?.source[edge], visible?.target[edge]].flatMap((i) => (i === undefined ? [] : nodesOf(stage, i)));
}

export function nodesIn(stage: Stage, group: number): number[] {
  const { picture } = stage;
  const out: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++) {
    for (let g = picture.group[u] ?? -1; g >= 0; g = picture.groups.parent[g] ?? -1)
      if (g === group) {
        out.push(u);
        break;
      }
  }
  return out;
}
