/** The edges of what is shown: seen through folded tuples, joined between groups, or turned into badges. */

import { Kind } from "../model/messages.ts";
import { type Rows } from "./csr.ts";
import { bytes } from "./labels.ts";
import { textOf } from "./payload.ts";
import { kindOf, type Picture, placeOf } from "./picture.ts";

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

/** The edges between items, one column each: thousands of objects would be made anew with every click. */
class Links {
  readonly badges = new Map<number, Badge[]>();
  readonly source: number[] = [];
  readonly target: number[] = [];
  readonly port: number[] = [];
  readonly side: number[] = [];
  readonly producer: number[] = [];
  /** Those that have become badges. */
  readonly dropped = new Set<number>();
  private readonly weak: boolean[] = [];
  private readonly fold: number[] = [];
  private readonly bytes: number[] = [];
  private readonly label: string[] = [];
  private readonly type: string[] = [];
  /** Edges at a collapsed group, by both ends. */
  private readonly grouped = new Map<number, number>();
  /** The last edge into each item, and the one before each edge into the same item. */
  private readonly last: Int32Array;
  private readonly before: number[] = [];

  constructor(private readonly node: readonly number[]) {
    this.last = new Int32Array(node.length).fill(-1);
  }

  add(source: number, target: number, port: number, from: Producer, size: number): void {
    const { node, grouped, last } = this;
    const atGroup = node[source] < 0 || node[target] < 0;
    const key = source * node.length + target;
    const same = atGroup ? (grouped.get(key) ?? -1) : this.alike(source, target, port, from.label);
    if (same >= 0) {
      this.fold[same]++;
      this.side[same] |= from.side;
      this.bytes[same] = Math.max(this.bytes[same], size);
      this.weak[same] &&= from.weak;
      if (this.label[same] !== from.label) this.label[same] = "";
      return;
    }
    const e = this.source.push(source) - 1;
    this.target.push(target);
    this.port.push(port);
    this.side.push(from.side);
    this.producer.push(from.node);
    this.weak.push(from.weak);
    this.fold.push(1);
    this.bytes.push(size);
    this.label.push(from.label);
    this.type.push(from.type);
    if (atGroup) grouped.set(key, e);
    this.before.push(last[target]);
    last[target] = e;
  }

  private alike(source: number, target: number, port: number, label: string): number {
    let e = this.last[target];
    while (e >= 0 && !(this.source[e] === source && this.port[e] === port && this.label[e] === label))
      e = this.before[e];
    return e;
  }

  /** As `Visible` has them, without those that were dropped. */
  columns() {
    const kept =
      this.dropped.size > 0
        ? <T>(column: T[]): T[] => column.filter((_, e) => !this.dropped.has(e))
        : <T>(column: T[]): T[] => column;
    const source = new Uint32Array(kept(this.source));
    return {
      edgeCount: source.length,
      source,
      target: new Uint32Array(kept(this.target)),
      port: new Uint16Array(kept(this.port)),
      edgeSide: new Uint8Array(kept(this.side)),
      weak: Uint8Array.from(kept(this.weak), Number),
      edgeFold: new Uint32Array(kept(this.fold)),
      edgeBytes: new Float64Array(kept(this.bytes)),
      edgeLabel: kept(this.label),
      edgeType: kept(this.type),
    };
  }
}

/** Every edge between items, and the badges of folded nodes. */
export function gather(
  picture: Picture,
  itemOf: Int32Array,
  inEdges: Rows,
  node: number[],
  folds: Uint8Array | null,
): Links {
  const links = new Links(node);
  const one: Producer[] = [{ node: 0, label: "", side: 0, weak: false, type: "" }];
  for (let e = 0; e < picture.edgeCount; e++) {
    const target = itemOf[picture.target[e]];
    if (target < 0) continue;
    const through = isThrough(picture.source[e], itemOf, folds);
    if (!through)
      one[0] = {
        node: picture.source[e],
        label: "",
        side: picture.edgeSide[e],
        weak: picture.weak[e] === 1,
        type: picture.edgeType[e],
      };
    for (const from of through ? producers(picture, e, itemOf, inEdges, folds) : one) {
      const source = itemOf[from.node];
      const folded = from.side & (folds?.[from.node] ?? 0);
      if (folded && node[target] >= 0)
        addBadge(links.badges, target, {
          node: from.node,
          port: picture.index[e],
          side: folded,
          kind: badgeKind(picture, from.node),
        });
      from.side &= ~folded;
      if (source >= 0 && source !== target && from.side !== 0)
        links.add(source, target, picture.index[e], from, bytes(picture.edgeType[e]));
    }
  }
  return links;
}

/** Whether a value only passes here: a tuple, or what takes one apart, that is a mark on the edge. */
function isThrough(u: number, itemOf: Int32Array, folds: Uint8Array | null): boolean {
  return itemOf[u] === FOLDED && !folds?.[u];
}

interface Producer {
  node: number;
  label: string;
  side: number;
  weak: boolean;
  type: string;
}

/** Where an edge's value really comes from, seen through elided tuples and tuple gets. */
function producers(
  picture: Picture,
  edge: number,
  itemOf: Int32Array,
  inEdges: Rows,
  folds: Uint8Array | null,
): Producer[] {
  const found: Producer[] = [];
  // Fields still to be taken from a tuple further up, innermost last.
  const stack: { edge: number; fields: string[]; side: number; weak: boolean; type: string; steps: number }[] = [
    {
      edge,
      fields: [],
      side: picture.edgeSide[edge],
      weak: picture.weak[edge] === 1,
      type: picture.edgeType[edge],
      steps: 0,
    },
  ];
  while (stack.length > 0) {
    const at = stack.pop()!;
    const from = picture.source[at.edge];
    if (at.steps >= 64 || !isThrough(from, itemOf, folds)) {
      found.push({
        node: from,
        label: at.fields.slice().reverse().join(""),
        side: at.side,
        weak: at.weak,
        type: at.type,
      });
      continue;
    }
    const { graph, id: v } = placeOf(picture, from, 1);
    const get = graph.kind[v] === Kind.get_item;
    const field = get ? textOf(graph, "label", v) : "";
    const wanted = !get && at.fields.length > 0 ? Number(at.fields[at.fields.length - 1].slice(1)) : -1;
    for (let i = inEdges.offset[from + 1] - 1; i >= inEdges.offset[from]; i--) {
      const e = inEdges.items[i];
      const side = at.side & picture.edgeSide[e];
      if (side === 0 || (wanted >= 0 && picture.index[e] !== wanted)) continue;
      const fields = get ? [...at.fields, field] : wanted >= 0 ? at.fields.slice(0, -1) : at.fields;
      stack.push({
        edge: e,
        fields,
        side,
        weak: at.weak || picture.weak[e] === 1,
        type: get || wanted >= 0 ? at.type : picture.edgeType[e],
        steps: at.steps + 1,
      });
    }
  }
  return found;
}

function badgeKind(picture: Picture, u: number): Badge["kind"] {
  return kindOf(picture, u) === Kind.param ? "param" : "constant";
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
export function stub(links: Links, node: number[], limit: number): void {
  const { source, side } = links;
  // Counted per side, so that a node with ten consumers before and ten others after is not taken for one with twenty.
  const fan = [new Uint32Array(node.length), new Uint32Array(node.length)];
  for (let e = 0; e < source.length; e++) {
    fan[0][source[e]] += side[e] & 1;
    fan[1][source[e]] += side[e] >> 1;
  }
  for (let e = 0; e < source.length; e++) {
    const most = Math.max(fan[0][source[e]], fan[1][source[e]]);
    if (most <= limit || node[source[e]] < 0) continue;
    links.dropped.add(e);
    addBadge(links.badges, links.target[e], {
      node: links.producer[e],
      port: links.port[e],
      side: side[e],
      kind: "stub",
    });
  }
}
