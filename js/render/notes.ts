/** Notes on a graph besides the marks of a diff: a region with braces, letters on branches, the nodes merged so far. */
import { type EdgeValues, type Marks, type Sign } from "../model/messages.ts";
import { position } from "./overlay.ts";
import { type Scene } from "./scene.ts";

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

export function notesInItems(notes: Notes, scene: Scene): Notes {
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
