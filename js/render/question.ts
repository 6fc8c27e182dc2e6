/** What the layout is asked: places instead of items, sizes, the edges that matter, where things were. */

import { append, cyclic, numbersTo, topological } from "../graph/csr.ts";
import { groupName } from "../graph/labels.ts";
import { type Visible } from "../graph/visible.ts";
import { type LayoutInput } from "../layout/types.ts";
import { HEADER, type Sizes } from "./content.ts";
import { type Ruler } from "./text.ts";

/** Between a group's line and what is in it. */
export const PADDING = 12;
/** Between layers of two graphs compared: a pass that draws a kernel's box around some nodes finds the room for its header there. */
const ROOM_FOR_KERNELS = 52;

export interface Seed {
  x: Float32Array;
  y: Float32Array;
}

/** The input, and what is needed to read the answer. */
export interface Question {
  input: LayoutInput;
  slots: Slots;
  /** Which of the layout's edges each edge follows; -1 for a weak one, which is drawn freely. */
  route: Int32Array;
}

export function layoutInput(
  visible: Visible,
  size: Sizes,
  ruler: Ruler,
  slots: Slots,
  seed: Seed | undefined,
): Question {
  const width = new Float32Array(slots.count);
  const height = new Float32Array(slots.count);
  const group = new Int32Array(slots.count);
  const at = { x: new Float32Array(slots.count).fill(NaN), y: new Float32Array(slots.count).fill(NaN) };
  for (let i = 0; i < visible.count; i++) {
    const slot = slots.of[i];
    width[slot] = Math.max(width[slot], size.width[i]);
    height[slot] = Math.max(height[slot], size.height[i]);
    group[slot] = visible.parent[i];
    if (!seed || Number.isNaN(seed.x[i])) continue;
    at.x[slot] = seed.x[i];
    at.y[slot] = seed.y[i];
  }
  const { edges, route } = slotEdges(visible, slots);
  return {
    slots,
    route,
    input: {
      nodes: { width, height, group },
      edges,
      groups: {
        parent: visible.openParent,
        headerHeight: new Float32Array(visible.open.length).fill(HEADER),
        minWidth: headerWidths(visible, ruler),
      },
      options: { nodeGap: 22, layerGap: visible.picture.compares ? ROOM_FOR_KERNELS : 32, padding: PADDING },
      ...(seed ? { seed: at } : {}),
    },
  };
}

/** Whether two inputs are the same but for their seeds. */
export function sameInput(a: LayoutInput, b: LayoutInput): boolean {
  const columns = ({ nodes, edges, groups }: LayoutInput) =>
    Object.values<NumberColumn>({ ...nodes, ...edges, ...groups });
  const others = columns(b);
  const same = (column: NumberColumn, k: number) =>
    column.length === others[k].length && column.every((value, i) => value === others[k][i]);
  return JSON.stringify(a.options) === JSON.stringify(b.options) && columns(a).every(same);
}

type NumberColumn = Float32Array | Int32Array | Uint32Array | Uint16Array;

/** Room for a group's name and chevron; a very long name is cut rather than make its group wide. */
function headerWidths({ open, picture }: Visible, ruler: Ruler): Float32Array {
  const width = (g: number) => ruler.width(groupName(picture.groups.name[g]), 11, true) + 40;
  return Float32Array.from(open, (g) => Math.min(240, width(g)));
}

function slotEdges(visible: Visible, slots: Slots): { edges: LayoutInput["edges"]; route: Int32Array } {
  const route = new Int32Array(visible.edgeCount).fill(-1);
  const shared = slots.count < visible.count;
  /** The last edge into each place, and the one before each edge into the same place. */
  const last = new Int32Array(shared ? slots.count : 0).fill(-1);
  const before = new Int32Array(visible.edgeCount);
  const source = new Uint32Array(visible.edgeCount);
  const target = new Uint32Array(visible.edgeCount);
  const port = new Uint16Array(visible.edgeCount);
  let count = 0;
  for (let e = 0; e < visible.edgeCount; e++) {
    if (visible.weak[e]) continue;
    const s = slots.of[visible.source[e]];
    const t = slots.of[visible.target[e]];
    let same = last[t] ?? -1;
    while (same >= 0 && !(source[same] === s && port[same] === visible.port[e])) same = before[same];
    if (same >= 0) {
      route[e] = same;
      continue;
    }
    if (shared) [before[count], last[t]] = [last[t], count];
    source[count] = s;
    target[count] = t;
    port[count] = visible.port[e];
    route[e] = count++;
  }
  return {
    route,
    edges: { source: source.slice(0, count), target: target.slice(0, count), port: port.slice(0, count) },
  };
}

/**
 * Side by side, what a pass removed and what it put in its place never show together, so they may share one place:
 * both panes stay compact, and the flow runs straight through either. In the overlay each has a place of its own.
 */
interface Slots {
  count: number;
  /** Place of each item. */
  of: Int32Array;
}

export function ownSlots(visible: Visible): Slots {
  return { count: visible.count, of: numbersTo(visible.count) };
}

/** Items that only one side has, paired where they follow the same place in the same group. */
export function sharedSlots(visible: Visible): Slots {
  const mate = new Int32Array(visible.count).fill(-1);
  const first = firstInputs(visible);
  const waiting = new Map<string, number[]>();
  const rootOf = (i: number) => (mate[i] >= 0 ? Math.min(i, mate[i]) : i);
  for (const i of topological(visible.source, visible.target, visible.count, visible.weak)) {
    const side = visible.side[i];
    if (side === 3 || visible.node[i] < 0 || first[i] < 0) continue;
    const after = `${visible.parent[i]}|${rootOf(first[i])}|`;
    const list = waiting.get(after + (3 - side));
    const partner = list?.shift();
    if (partner !== undefined) {
      mate[i] = partner;
      mate[partner] = i;
    } else append(waiting, after + side, i);
  }
  return untangle(visible, mate);
}

function firstInputs(visible: Visible): Int32Array {
  const first = new Int32Array(visible.count).fill(-1);
  const port = new Uint16Array(visible.count).fill(0xffff);
  for (let e = 0; e < visible.edgeCount; e++) {
    const t = visible.target[e];
    if (visible.weak[e] || (first[t] >= 0 && visible.port[e] >= port[t])) continue;
    first[t] = visible.source[e];
    port[t] = visible.port[e];
  }
  return first;
}

/** Two that share a place must not wait for each other by way of the other side: such pairs part again. */
function untangle(visible: Visible, mate: Int32Array): Slots {
  for (let round = 0; round < 6; round++) {
    const slots = number(visible, mate);
    const keep = numbersTo(visible.edgeCount).filter((e) => !visible.weak[e]);
    const bad = cyclic(
      keep.map((e) => slots.of[visible.source[e]]),
      keep.map((e) => slots.of[visible.target[e]]),
      slots.count,
      () => true,
    );
    let parted = false;
    keep.forEach((e, i) => {
      if (!bad[i]) return;
      for (const item of [visible.source[e], visible.target[e]]) {
        if (mate[item] < 0) continue;
        mate[mate[item]] = -1;
        mate[item] = -1;
        parted = true;
      }
    });
    if (!parted) return slots;
  }
  return ownSlots(visible);
}

function number(visible: Visible, mate: Int32Array): Slots {
  const of = new Int32Array(visible.count);
  let count = 0;
  for (let i = 0; i < visible.count; i++) of[i] = mate[i] >= 0 && mate[i] < i ? of[mate[i]] : count++;
  return { count, of };
}
