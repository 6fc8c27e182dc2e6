/** Everything about a frame that is not the scene itself: what is selected, hovered, found, coloured; and notes on the graph. */

import { type Visible } from "../graph/visible.ts";
import { type EdgeValues, type Marks, type Sign } from "../model/messages.ts";
import { type Overlay, position } from "./overlay.ts";
import { type Scene } from "./scene.ts";

export interface Look {
  /** Items. */
  selected: ReadonlySet<number>;
  hovered: number;
  hoveredGroup: number;
  hoveredEdge: number;
  /** Items that are the hovered or selected one's other ends in a merge or split. */
  linked: ReadonlySet<number>;
  /** Items that match the search; null when nothing is searched for. */
  found: ReadonlySet<number> | null;
  /** Nodes (1 where muted) and items that are drawn faintly, as the legend says; null where none is. */
  mutedNodes: Uint8Array | null;
  muted: ReadonlySet<number> | null;
  overlay: Overlay | null;
  /** What an edge's colour says. */
  edges: "diff" | "dtype";
  /** Overlay values of each side: per item, summed over a collapsed group, and per open group. */
  values: { items: Map<number, number>; groups: Map<number, number> }[];
  /** A shaded region and signs, by item. */
  notes: Notes | null;
}

export const PLAIN: Look = {
  selected: new Set(),
  hovered: -1,
  hoveredGroup: -1,
  hoveredEdge: -1,
  linked: new Set(),
  found: null,
  mutedNodes: null,
  muted: null,
  overlay: null,
  edges: "diff",
  values: [],
  notes: null,
};

interface Chosen {
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

/** What is selected, found, linked and measured, from nodes of the picture to items of the present scene. */
export function inItems(look: Look, scene: Scene, chosen: Chosen): Look {
  const { visible } = scene;
  const sources = [...chosen.selection.slice(0, MOST_LINKED), chosen.hoveredNode];
  return {
    ...look,
    selected: new Set(itemsOf(scene, chosen.selection)),
    hovered: look.hovered < visible.count ? look.hovered : -1,
    hoveredEdge: look.hoveredEdge < visible.edgeCount ? look.hoveredEdge : -1,
    linked: new Set(
      itemsOf(
        scene,
        sources.flatMap((u) => visible.picture.partners.get(u) ?? []),
      ),
    ),
    found: chosen.found ? new Set(itemsOf(scene, chosen.found)) : null,
    ...overlaid(scene, chosen.overlay),
    notes: chosen.notes && notesInItems(chosen.notes, scene),
  };
}

/** Values per item and per open group, and the scale over what is drawn: a collapsed group's sum must not run off its end. */
function overlaid({ visible }: Scene, overlay: Overlay | null): Pick<Look, "overlay" | "values"> {
  const { picture, itemOf, node } = visible;
  const values = (overlay?.sides ?? []).map((side, s) => {
    const [items, groups] = [new Map<number, number>(), new Map<number, number>()];
    const add = (item: number, value: number) => {
      if (Number.isFinite(value)) items.set(item, (items.get(item) ?? 0) + value);
    };
    const found = (id: number): [number, number] => {
      const u = picture.node[s as 0 | 1][id];
      return [u, u === undefined ? -1 : itemOf[u]];
    };
    for (const [id, value] of Object.entries(side.values ?? {})) {
      const [u, item] = found(Number(id));
      // A folded constant is found on its consumer, but its value is not its consumer's.
      if (item >= 0 && (node[item] < 0 || node[item] === u)) add(item, value);
    }
    for (const [id, [value, inside]] of Object.entries(side.groups ?? {})) {
      const [, item] = found(inside);
      if (item >= 0 && node[item] < 0) add(item, value);
      else if (Number.isFinite(value))
        groups.set(picture.groups.id[s as 0 | 1].indexOf(picture.sides[s].groupId.indexOf(Number(id))), value);
    }
    return { items, groups };
  });
  const all = values.flatMap(({ items, groups }) => [...items.values(), ...groups.values()]);
  const ends = (pick: (a: number, b: number) => number) => all.reduce((a, b) => pick(a, b), all[0]);
  return {
    overlay: overlay && all.length > 0 ? { ...overlay, low: ends(Math.min), high: ends(Math.max) } : null,
    values,
  };
}

/** Of what is drawn faintly: just enough to see that something is there. */
export const MUTED = 0.16;

/** Items all of whose nodes are muted; a weight that stands on its consumer says nothing about the consumer. */
export function mutedItems(visible: Visible, nodes: Uint8Array): ReadonlySet<number> {
  const [muted, loud] = [new Set<number>(), new Set<number>()];
  visible.itemOf.forEach((item, u) => {
    if (item < 0 || (visible.node[item] >= 0 && visible.node[item] !== u)) return;
    (nodes[u] ? muted : loud).add(item);
  });
  for (const item of loud) muted.delete(item);
  return muted;
}

// Notes besides the marks of a diff: a region with braces, letters on branches, the nodes merged so far.

/** Values of the edges of one scene, with the ends of their scale. */
interface EdgeColours {
  title: string;
  unit: string;
  low: number;
  high: number;
  /** Edge of the scene to its place on the scale, from 0 to 1. */
  at: Map<number, number>;
}

/** Nodes as Python sends them, then items of one scene. */
export interface Notes {
  wash: number[];
  entry: number;
  exit: number;
  signs: Sign[];
  done: number[];
  /** Nodes whose numbers are shown: sentences beside the graph name them. */
  numbers: number[];
  edges: EdgeValues | null;
  /** Of a scene. */
  colours: EdgeColours | null;
  /** Of items: their numbers in words. */
  labels: [item: number, words: string][];
}

const MOST_NUMBERS = 3;

export function readNotes(marks: Marks | undefined, numbers: number[] = []): Notes | null {
  const { wash = [], entry = -1, exit = -1, signs = [], done = [], edges = null } = marks ?? {};
  const notes = { wash, entry, exit, signs, done, numbers, edges, colours: null, labels: [] };
  return edges !== null || wash.length + signs.length + done.length + numbers.length > 0 ? notes : null;
}

function notesInItems(notes: Notes, scene: Scene): Notes {
  const item = (id: number) => scene.visible.itemOf[scene.visible.picture.node[0][id] ?? -1] ?? -1;
  const items = (ids: number[]) => [...new Set(ids.map(item).filter((i) => i >= 0))];
  const signs = new Map<number, Sign>();
  for (const [id, ...rest] of notes.signs)
    if (item(id) >= 0 && !signs.has(item(id))) signs.set(item(id), [item(id), ...rest]);
  return {
    wash: items(notes.wash),
    entry: item(notes.entry),
    exit: item(notes.exit),
    signs: [...signs.values()],
    done: items(notes.done),
    numbers: notes.numbers,
    edges: notes.edges,
    colours: notes.edges && colours(notes.edges, scene, item),
    labels: labels(notes.numbers, item),
  };
}

/** The colours of the drawn edges; several values between two closed groups are one edge with their sum. */
function colours({ title, unit, edges }: EdgeValues, scene: Scene, item: (id: number) => number): EdgeColours | null {
  const { source, target, edgeCount } = scene.visible;
  const place = new Map<string, number>();
  for (let e = 0; e < edgeCount; e++) place.set(`${source[e]},${target[e]}`, e);
  const sums = new Map<number, number>();
  for (const [from, to, value] of edges) {
    const e = place.get(`${item(from)},${item(to)}`);
    if (e !== undefined && Number.isFinite(value)) sums.set(e, (sums.get(e) ?? 0) + value);
  }
  if (sums.size === 0) return null;
  const values = [...sums.values()];
  const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const at = new Map([...sums].map(([e, value]) => [e, position({ low, high }, value)]));
  return { title, unit, low, high, at };
}

/** A group shows the numbers of the nodes in it, the first ones of many. */
function labels(numbers: readonly number[], item: (id: number) => number): [number, string][] {
  const byItem = new Map<number, number[]>();
  for (const id of numbers) {
    const i = item(id);
    if (i >= 0) byItem.set(i, [...(byItem.get(i) ?? []), id]);
  }
  return [...byItem].map(([i, ids]) => [
    i,
    ids.length > MOST_NUMBERS ? `${ids.slice(0, MOST_NUMBERS).join(", ")} …` : ids.join(", "),
  ]);
}
