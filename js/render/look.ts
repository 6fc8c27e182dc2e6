/** Everything about a frame that is not the scene itself: what is selected, hovered, found, coloured. */
import { type Notes } from "./notes.ts";
import { type Overlay } from "./overlay.ts";

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
