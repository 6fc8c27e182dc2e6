/** What stands in each item's box, and how large the box is. Both sides of a picture share one size. */
import { badgeText, chosenAttributes, compactType, groupName, opName } from "../graph/labels.ts";
import { type Badge } from "../graph/links.ts";
import { textOf } from "../graph/payload.ts";
import { BOTH, type Picture, sideOf } from "../graph/picture.ts";
import { type Visible } from "../graph/visible.ts";
import { Kind } from "../model/messages.ts";
import { counted } from "../text/counted.ts";
import { oneLine, type Ruler } from "./text.ts";

export const LABEL = 13;
export const SMALL = 11;
export const PAD = 10;
export const BADGE_HEIGHT = 17;
export const BADGE_GAP = 4;
export const HEADER = 24;
const NARROWEST = 76;
const WIDEST = 236;
/** A box grows beyond WIDEST for its name, so that names like "nn.contrib_conv2d_NCHWc + 2" are whole. */
const WIDEST_NAME = 340;
const MOST_BADGES = 6;
/** Before a badge's words, by mark: too small for a drawn sign. */
const SIGNS = ["", "~ ", "− ", "+ ", "", ""];

/** In words beside a number there is room for no drawing: merges and splits have arrows that meet and part. */
const CHANGE_SIGNS = ["", "~", "−", "+", "⤙", "⤚"];

export interface Content {
  label: string;
  /** Small print, top to bottom: type, then attributes. */
  lines: string[];
  badges: { text: string; kind: Badge["kind"]; node: number; side: number }[];
  /** In a collapsed group, how many of its nodes a pass changed in which way, by mark. */
  changes?: number[];
  /** Drawn as a pill (a parameter, a constant), a box (an op) or a stack (a collapsed group). */
  shape: "pill" | "box" | "stack";
}

export function contentOf(scene: Visible, item: number, preferred: 0 | 1): Content {
  const { picture } = scene;
  const badges = badgesOf(scene, item, preferred);
  if (scene.gap[item] > 0) return { label: `··· ${scene.gap[item]} unchanged`, lines: [], badges: [], shape: "pill" };
  if (scene.node[item] < 0) return { ...groupContent(scene, item, preferred), badges, shape: "stack" };
  const u = scene.node[item];
  const s = sideOf(picture, u, preferred);
  const graph = picture.sides[s];
  const v = picture.id[s][u];
  const kind = graph.kind[v];
  const label = oneLine(textOf(graph, "label", v));
  const type = oneLine(compactType(textOf(graph, "type", v)));
  if (kind === Kind.constant) {
    const full = textOf(graph, "type", v);
    return {
      label: badgeText("constant", label, oneLine(textOf(graph, "name", v)), full),
      lines: [type],
      badges,
      shape: "pill",
    };
  }
  const attrs = oneLine(chosenAttributes(textOf(graph, "attrs", v), type));
  const name = opName(label);
  // An operator of Relax that is kept has another name where a pass made it a call of a function.
  const before = s === 1 && kind === Kind.op && picture.mark[s][u] === 0 ? opName(labelOn(picture, u, 0)) : "";
  const lowered = before !== "" && before !== name;
  const lines = [type, attrs, lowered ? `as ${name}` : ""].filter((line) => line !== "");
  return {
    label: (lowered ? before : name) || "(no name)",
    lines,
    badges,
    shape: kind === Kind.param ? "pill" : "box",
  };
}

function labelOn(picture: Picture, u: number, s: 0 | 1): string {
  const v = picture.id[s][u];
  return v < 0 ? "" : oneLine(textOf(picture.sides[s], "label", v));
}

function badgesOf(scene: Visible, item: number, preferred: 0 | 1): Content["badges"] {
  const list = scene.badges.get(item);
  if (!list) return [];
  const { picture } = scene;
  const own = scene.node[item] >= 0 ? sideOf(picture, scene.node[item], preferred) : preferred;
  const shown = list.filter((b) => b.side & (1 << own));
  const out: Content["badges"] = shown.slice(0, MOST_BADGES).map((b) => {
    const s = sideOf(picture, b.node, preferred);
    const graph = picture.sides[s];
    const v = picture.id[s][b.node];
    const label = oneLine(textOf(graph, "label", v), 60);
    const name = oneLine(textOf(graph, "name", v), 60);
    const words = b.kind === "stub" ? `↑ ${opName(label)}` : badgeText(b.kind, label, name, textOf(graph, "type", v));
    const sign = picture.compares ? SIGNS[picture.mark[s][b.node]] : "";
    return { text: sign + words, kind: b.kind, node: b.node, side: b.side };
  });
  if (shown.length > MOST_BADGES)
    out.push({ text: `+${shown.length - MOST_BADGES} more`, kind: "stub", node: shown[MOST_BADGES].node, side: 3 });
  return out;
}

function groupContent(
  scene: Visible,
  item: number,
  preferred: 0 | 1,
): { label: string; lines: string[]; changes?: number[] } {
  const { picture } = scene;
  const box = scene.collapsedGroup[item];
  const own = scene.side[item] & (1 << preferred) ? preferred : preferred === 0 ? 1 : 0;
  const inside = insides(picture, scene)[own].get(box);
  const noun = inside?.ops.size === 0 ? "call" : "op";
  const counts = inside?.[`${noun}s`] ?? new Map<string, number>();
  const changes = inside?.marks.some((n, mark) => mark > 0 && n > 0) ? inside.marks : undefined;
  const total = [...counts.values()].reduce((sum, n) => sum + n, 0);
  const often = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3)
    .map(([op, n]) => (n > 1 ? `${op} ×${n}` : op));
  const line = [counted(total, noun), often.join(", ")].filter(Boolean).join(": ");
  return {
    label: groupName(picture.groups.name[box]) || "group",
    lines: [line, ...(changes ? [changeParts(changes).join("  ")] : [])],
    ...(changes ? { changes } : {}),
  };
}

/** "+18", "~5": what happened inside, by mark; empty where nothing did. */
export function changeParts(changes: readonly number[]): string[] {
  return changes.map((n, mark) => (mark > 0 && n > 0 ? `${CHANGE_SIGNS[mark]}${n}` : "")).filter(Boolean);
}

interface Inside {
  ops: Map<string, number>;
  /** Said where there are no operators, as in a graph of kernels. */
  calls: Map<string, number>;
  marks: number[];
}

const insidesOf = new WeakMap<Visible, [Map<number, Inside>, Map<number, Inside>]>();

/** What is in each collapsed group on each side, counted once a picture. */
function insides(picture: Picture, scene: Visible): [Map<number, Inside>, Map<number, Inside>] {
  const known = insidesOf.get(scene);
  if (known) return known;
  const all: [Map<number, Inside>, Map<number, Inside>] = [new Map(), new Map()];
  for (let u = 0; u < picture.nodeCount; u++) {
    const item = scene.itemOf[u];
    if (item < 0 || scene.node[item] >= 0) continue;
    for (const s of [0, 1] as const) {
      const v = picture.id[s][u];
      if (v >= 0) count(all[s], scene.collapsedGroup[item], picture, s, v, u);
    }
  }
  insidesOf.set(scene, all);
  return all;
}

function count(into: Map<number, Inside>, box: number, picture: Picture, s: 0 | 1, v: number, u: number): void {
  const graph = picture.sides[s];
  const inside = into.get(box) ?? {
    ops: new Map<string, number>(),
    calls: new Map<string, number>(),
    marks: [0, 0, 0, 0, 0, 0],
  };
  into.set(box, inside);
  inside.marks[picture.mark[s][u]]++;
  const names = graph.kind[v] === Kind.op ? inside.ops : graph.kind[v] === Kind.call ? inside.calls : null;
  const name = opName(oneLine(textOf(graph, "label", v), 40));
  names?.set(name, (names.get(name) ?? 0) + 1);
}

export interface Sizes {
  width: Float32Array;
  height: Float32Array;
}

/** A node's size, as it was when it had these badges: opening a group changes few of them. */
interface Measured {
  side: Uint8Array;
  badges: (readonly Badge[] | undefined)[];
  width: Float32Array;
  height: Float32Array;
}

const measured = new WeakMap<Picture, { ruler: Ruler; nodes: Measured }>();

function measuredNodes(picture: Picture, ruler: Ruler): Measured {
  const known = measured.get(picture);
  if (known?.ruler === ruler) return known.nodes;
  const n = picture.nodeCount;
  const nodes = {
    side: new Uint8Array(n),
    badges: new Array<undefined>(n),
    width: new Float32Array(n),
    height: new Float32Array(n),
  };
  measured.set(picture, { ruler, nodes });
  return nodes;
}

export function sizes(scene: Visible, ruler: Ruler): Sizes {
  const width = new Float32Array(scene.count);
  const height = new Float32Array(scene.count);
  const nodes = measuredNodes(scene.picture, ruler);
  for (let i = 0; i < scene.count; i++) {
    const [u, badges] = [scene.node[i], scene.badges.get(i)];
    if (u >= 0 && nodes.side[u] === scene.side[i] && sameBadges(nodes.badges[u], badges)) {
      width[i] = nodes.width[u];
      height[i] = nodes.height[u];
      continue;
    }
    for (const s of [0, 1] as const) {
      if (!(scene.side[i] & (1 << s)) || (s === 1 && readsAlike(scene, i, badges))) continue;
      const size = measure(contentOf(scene, i, s), ruler);
      width[i] = Math.max(width[i], size[0]);
      height[i] = Math.max(height[i], size[1]);
    }
    if (u < 0) continue;
    nodes.side[u] = scene.side[i];
    nodes.badges[u] = badges;
    nodes.width[u] = width[i];
    nodes.height[u] = height[i];
  }
  return { width, height };
}

const TEXTS = ["label", "type", "attrs", "name"] as const;

/** Whether a reader finds the same words on both sides of an item. */
function readsAlike({ picture, side, node }: Visible, item: number, badges: readonly Badge[] = []): boolean {
  const { sides, id, mark } = picture;
  const alike = (u: number) => {
    const [v, w] = [id[0][u], id[1][u]];
    if (v < 0 || w < 0 || sides[0].kind[v] !== sides[1].kind[w] || mark[0][u] !== mark[1][u]) return false;
    for (const name of TEXTS) if (textOf(sides[0], name, v) !== textOf(sides[1], name, w)) return false;
    return true;
  };
  if (side[item] !== BOTH || node[item] < 0 || !alike(node[item])) return false;
  return badges.every((b) => b.side === BOTH && alike(b.node));
}

function sameBadges(a: readonly Badge[] | undefined, b: readonly Badge[] | undefined): boolean {
  if (a === b) return true;
  return (
    a?.length === b?.length &&
    a!.every((x, k) => {
      const y = b![k];
      return x.node === y.node && x.side === y.side && x.kind === y.kind;
    })
  );
}

function measure(content: Content, ruler: Ruler): [number, number] {
  // Room for the chevron of a stack; a mark sits in the corner and needs none.
  const extra = content.shape === "stack" ? 18 : 0;
  const name = Math.min(WIDEST_NAME, Math.ceil(ruler.width(content.label, LABEL, true) + extra) + 2 * PAD);
  let inner = 0;
  for (const line of content.lines) inner = Math.max(inner, ruler.width(line, SMALL));
  for (const badge of content.badges) inner = Math.max(inner, ruler.width(badge.text, SMALL) + 12);
  const width = Math.max(NARROWEST, name, Math.min(WIDEST, Math.ceil(inner) + 2 * PAD));
  const rows = badgeRows(content, width - 2 * PAD, ruler).length;
  const height = 7 + 18 + 15 * content.lines.length + rows * (BADGE_HEIGHT + BADGE_GAP) + 6;
  return [width, height];
}

/** Badges in rows: which badge goes where, with the width each gets. */
export function badgeRows(
  content: Content,
  room: number,
  ruler: Ruler,
): { index: number; x: number; width: number }[][] {
  const rows: { index: number; x: number; width: number }[][] = [];
  let x = room + 1;
  content.badges.forEach((badge, index) => {
    const width = Math.min(room, ruler.width(badge.text, SMALL) + 12);
    if (x + width > room) {
      rows.push([]);
      x = 0;
    }
    rows[rows.length - 1].push({ index, x, width });
    x += width + BADGE_GAP;
  });
  return rows;
}
