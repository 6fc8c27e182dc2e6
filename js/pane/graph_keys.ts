/** The graph from the keyboard. */
import { type KeyRow, type Pressed } from "../components/keys_card.tsx";
import { type Arrow, between, neighbourhood, step, stream } from "../graph/neighbours.ts";
import { groupsOf } from "../graph/picture.ts";
import { isWithin } from "../graph/picture_groups.ts";
import { type Stage } from "../render/stage.ts";

/** Where the data flows to the right, so do the keys that follow it. */
const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" } as const;
/** Of a pane: what a page key moves the view by. */
const PAGE = 0.8;
const TURNED: Record<Arrow, Arrow> = { right: "down", left: "up", down: "right", up: "left" };

interface At {
  stage: Stage;
  sides: number;
  minimap: { toggle(): void } | null;
}

const walks = ({ stage, sides }: At, { key, shiftKey }: Pressed) =>
  walk(stage, ARROWS[key as keyof typeof ARROWS], sides, shiftKey);

/** The keys of a pane. */
export const GRAPH_KEYS: readonly KeyRow<At>[] = [
  {
    ...{ shown: "↑ ↓ ← →", does: "move along edges, and to neighbours (Shift: add to the selection)" },
    act: { ArrowUp: walks, ArrowDown: walks, ArrowLeft: walks, ArrowRight: walks },
  },
  { does: "open or close a group", act: { Enter: ({ stage }) => enter(stage) } },
  { does: "fit the whole graph", act: { f: ({ stage }) => stage.fit() } },
  { does: "back to the beginning", act: { h: ({ stage }) => stage.home() } },
  { does: "zoom to the selection", act: { s: ({ stage }) => stage.fitItems(stage.look.selected) } },
  {
    ...{ shown: "+  −", does: "zoom" },
    act: {
      "+": ({ stage }) => stage.zoom(1.25),
      "=": ({ stage }) => stage.zoom(1.25),
      "-": ({ stage }) => stage.zoom(0.8),
    },
  },
  {
    ...{ shown: "Page ↑ ↓", does: "move the view (Shift: sideways)" },
    act: {
      PageUp: ({ stage }, { shiftKey }) => page(stage, 1, shiftKey),
      PageDown: ({ stage }, { shiftKey }) => page(stage, -1, shiftKey),
    },
  },
  { does: "select everything upstream", act: { "[": ({ stage, sides }) => selectStream(stage, "up", sides) } },
  { does: "select everything downstream", act: { "]": ({ stage, sides }) => selectStream(stage, "down", sides) } },
  { does: "select one step more around the selection", act: { e: ({ stage }) => selectAround(stage) } },
  { does: "select the whole group around the selection", act: { g: ({ stage }) => selectGroup(stage) } },
  {
    does: "select all paths between the selected nodes",
    act: { p: ({ stage, sides }) => selectPaths(stage, sides) },
  },
  { shown: "Ctrl + C", does: "copy the text of the selected nodes" },
  {
    does: "edges by data type",
    act: { t: ({ stage }) => stage.setEdges(stage.look.edges === "dtype" ? "diff" : "dtype") },
  },
  { does: "show or hide the map", act: { m: ({ minimap }) => minimap?.toggle() } },
  { does: "clear the selection", act: { Escape: ({ stage }) => goOut(stage) } },
  { shown: "Shift + click", does: "add to the selection" },
  { shown: "drag, wheel", does: "move the view, zoom (Shift + wheel: sideways)" },
  { shown: "double-click", does: "open or close a group, with the pointer" },
];

/** Everything that the selection is computed from, or everything computed from it; false where nothing is selected. */
function selectStream(stage: Stage, way: "up" | "down", sides: number): boolean {
  const { selection, picture } = stage;
  if (selection.length > 0) stage.select(stream(picture, selection, way, sides));
  return selection.length > 0;
}

/** One step more in every direction: as often as one likes. */
function selectAround(stage: Stage): boolean {
  const { selection, picture } = stage;
  const near = neighbourhood(picture, selection, 1);
  if (selection.length > 0) stage.select([...near.keys()].filter((u) => near[u]));
  return selection.length > 0;
}

/** All nodes on a path from one selected node to another; false where there is none. */
function selectPaths(stage: Stage, sides: number): boolean {
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

function page(stage: Stage, way: 1 | -1, sideways = false): void {
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
  return [...picture.group.keys()].filter((u) => isWithin(picture.groups.parent, picture.group[u] ?? -1, group));
}
