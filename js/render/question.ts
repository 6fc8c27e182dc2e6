/** What the layout is asked: places instead of items, sizes, the edges that matter, where things were. */
import { groupName } from "../graph/labels.ts";
import { type Visible } from "../graph/visible.ts";
import { type LayoutInput } from "../layout/types.ts";
import { HEADER, type Sizes } from "./content.ts";
import { type Slots } from "./slots.ts";
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

const headers = new WeakMap<Ruler, Map<string, number>>();

/** Room for a group's name and chevron; a very long name is cut rather than make its group wide. */
function headerWidths({ open, picture }: Visible, ruler: Ruler): Float32Array {
  const known = headers.get(ruler) ?? new Map<string, number>();
  headers.set(ruler, known);
  const out = new Float32Array(open.length);
  for (let i = 0; i < open.length; i++) {
    const name = picture.groups.name[open[i]];
    const width = known.get(name) ?? Math.min(240, ruler.width(groupName(name), 11, true) + 40);
    known.set(name, width);
    out[i] = width;
  }
  return out;
}

function slotEdges(visible: Visible, slots: Slots): { edges: LayoutInput["edges"]; route: Int32Array } {
  const route = new Int32Array(visible.edgeCount).fill(-1);
  const shared = slots.count < visible.count;
  const known = new Map<string, number>();
  const source = new Uint32Array(visible.edgeCount);
  const target = new Uint32Array(visible.edgeCount);
  const port = new Uint16Array(visible.edgeCount);
  let count = 0;
  for (let e = 0; e < visible.edgeCount; e++) {
    if (visible.weak[e]) continue;
    const s = slots.of[visible.source[e]];
    const t = slots.of[visible.target[e]];
    const key = shared ? `${s},${t},${visible.port[e]}` : "";
    const same = shared ? known.get(key) : undefined;
    if (same !== undefined) {
      route[e] = same;
      continue;
    }
    if (shared) known.set(key, count);
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
