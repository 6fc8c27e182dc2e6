/** The edges of what is shown: seen through folded tuples, joined between groups, or turned into badges. */
import { type Adjacency } from "./csr.ts";
import { bytes } from "./labels.ts";
import { Kind, text } from "./payload.ts";
import { sideOf, type Picture } from "./picture.ts";

export interface Badge {
  /** The picture's node this badge stands for. */
  node: number;
  port: number;
  side: number;
  kind: "constant" | "param" | "stub";
}

/** In `itemOf`: not shown at all, and shown only as a badge or a mark on an edge. */
export const HIDDEN = -1;
export const FOLDED = -2;

export interface Link {
  source: number; target: number; port: number; side: number; weak: boolean;
  fold: number; bytes: number; label: string; type: string; producer: number; dropped: boolean;
}

/** Every edge between items, and the badges of folded nodes. */
export function gather(picture: Picture, itemOf: Int32Array, inEdges: Adjacency, node: number[], folds: Uint8Array | null) {
  const list: Link[] = [];
  const known = new Map<string, Link>();
  const badges = new Map<number, Badge[]>();
  for (let e = 0; e < picture.edgeCount; e++) {
    const target = itemOf[picture.target[e]];
    if (target < 0) continue;
    for (const from of producers(picture, e, itemOf, inEdges, folds)) {
      const source = itemOf[from.node];
      const folded = from.side & (folds?.[from.node] ?? 0);
      if (folded && node[target] >= 0) addBadge(badges, target, { node: from.node, port: picture.index[e], side: folded, kind: badgeKind(picture, from.node) });
      from.side &= ~folded;
      if (source < 0 || source === target || from.side === 0) continue;
      const grouped = node[source] < 0 || node[target] < 0;
      const key = grouped ? `${source},${target}` : `${source},${target},${picture.index[e]},${from.label}`;
      const size = bytes(picture.edgeType[e]);
      const same = known.get(key);
      if (same) {
        same.fold++;
        same.side |= from.side;
        same.bytes = Math.max(same.bytes, size);
        same.weak &&= from.weak;
        if (same.label !== from.label) same.label = "";
        continue;
      }
      const link: Link = {
        source, target, port: picture.index[e], side: from.side, weak: from.weak, fold: 1, bytes: size,
        label: from.label, type: from.type, producer: from.node, dropped: false,
      };
      known.set(key, link);
      list.push(link);
    }
  }
  return { list, badges };
}

interface Producer { node: number; label: string; side: number; weak: boolean; type: string }

/** Where an edge's value really comes from, seen through elided tuples and tuple gets. */
function producers(picture: Picture, edge: number, itemOf: Int32Array, inEdges: Adjacency, folds: Uint8Array | null): Producer[] {
  const found: Producer[] = [];
  // Fields still to be taken from a tuple further up, innermost last.
  const stack: { edge: number; fields: string[]; side: number; weak: boolean; type: string; steps: number }[] = [
    { edge, fields: [], side: picture.edgeSide[edge], weak: picture.weak[edge] === 1, type: picture.edgeType[edge], steps: 0 },
  ];
  while (stack.length > 0) {
    const at = stack.pop()!;
    const from = picture.source[at.edge];
    const through = itemOf[from] === FOLDED && !folds?.[from] && at.steps < 64;
    if (!through) {
      found.push({ node: from, label: at.fields.slice().reverse().join(""), side: at.side, weak: at.weak, type: at.type });
      continue;
    }
    const s = sideOf(picture, from, 1);
    const graph = picture.sides[s];
    const v = picture.id[s][from];
    const get = graph.kind[v] === Kind.getItem;
    const field = get ? text(graph, graph.label[v]) : "";
    const wanted = !get && at.fields.length > 0 ? Number(at.fields[at.fields.length - 1].slice(1)) : -1;
    for (let i = inEdges.offset[from + 1] - 1; i >= inEdges.offset[from]; i--) {
      const e = inEdges.list[i];
      const side = at.side & picture.edgeSide[e];
      if (side === 0 || (wanted >= 0 && picture.index[e] !== wanted)) continue;
      const fields = get ? [...at.fields, field] : wanted >= 0 ? at.fields.slice(0, -1) : at.fields;
      stack.push({ edge: e, fields, side, weak: at.weak || picture.weak[e] === 1, type: get || wanted >= 0 ? at.type : picture.edgeType[e], steps: at.steps + 1 });
    }
  }
  return found;
}

function badgeKind(picture: Picture, u: number): Badge["kind"] {
  const s = sideOf(picture, u, 1);
  return picture.sides[s].kind[picture.id[s][u]] === Kind.param ? "param" : "constant";
}

function addBadge(badges: Map<number, Badge[]>, item: number, badge: Badge): void {
  const list = badges.get(item);
  if (!list) badges.set(item, [badge]);
  else {
    const same = list.find((b) => b.node === badge.node && b.port === badge.port);
    if (same) same.side |= badge.side;
    else list.push(badge);
  }
}

/** Turns the edges of producers with very many consumers into badges at the consumers. */
export function stub(edges: { list: Link[]; badges: Map<number, Badge[]> }, node: number[], limit: number): void {
  // Counted per side, so that a node with ten consumers before and ten others after is not taken for one with twenty.
  const fan = [new Map<number, number>(), new Map<number, number>()];
  for (const e of edges.list) for (const s of [0, 1]) if (e.side & (1 << s)) fan[s].set(e.source, (fan[s].get(e.source) ?? 0) + 1);
  for (const e of edges.list) {
    const most = Math.max(fan[0].get(e.source) ?? 0, fan[1].get(e.source) ?? 0);
    if (most <= limit || node[e.source] < 0) continue;
    e.dropped = true;
    addBadge(edges.badges, e.target, { node: e.producer, port: e.port, side: e.side, kind: "stub" });
  }
}
