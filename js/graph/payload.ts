/**
 * The graph as Python sends it: one string table and little-endian columns. Columns stay typed arrays here,
 * because 50,000 nodes as objects would cost more memory and time than everything drawn from them.
 */
import { type Bytes, type GraphPayload, GroupKind, Kind } from "../model/messages.ts";

/** The names of `Kind` and of `GroupKind`, by number. */
export const KINDS: readonly string[] = Object.keys(Kind);
export const GROUP_KINDS: readonly string[] = Object.keys(GroupKind);

export interface Graph {
  strings: string[];
  nodeCount: number;
  edgeCount: number;
  groupCount: number;
  kind: Uint8Array;
  label: Uint32Array;
  type: Uint32Array;
  attrs: Uint32Array;
  name: Uint32Array;
  span: Uint32Array;
  group: Int32Array;
  pattern: Int8Array;
  source: Uint32Array;
  target: Uint32Array;
  index: Uint16Array;
  edgeType: Uint32Array;
  groupKind: Uint8Array;
  /** What Python calls each group: some of its groups are not drawn, so places here are other numbers. */
  groupId: Int32Array;
  groupName: Uint32Array;
  groupAttrs: Uint32Array;
  groupParent: Int32Array;
  output: Uint32Array;
}

type Column = Uint8Array | Int8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;
type ColumnType<T extends Column> = {
  new (values: ArrayBuffer | ArrayLike<number>): T;
  BYTES_PER_ELEMENT: number;
};

type Decoder = (text: string) => Uint8Array<ArrayBuffer>;

/** The browser's own decoder where it has one. */
export const fromBase64: Decoder =
  (Uint8Array as { fromBase64?: Decoder }).fromBase64?.bind(Uint8Array) ??
  ((text) => {
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
    return bytes;
  });

/** What Python sends of a column where one byte, or two, are enough for each of its values. */
const NARROWER = new Map<unknown, (typeof Uint8Array | typeof Int8Array | typeof Uint16Array | typeof Int16Array)[]>([
  [Uint32Array, [Uint8Array, Uint16Array]],
  [Int32Array, [Int8Array, Int16Array]],
]);

/**
 * One column, of `count` values where their number is known. The bytes are copied: a comm message's views start anywhere,
 * and typed arrays need alignment.
 */
export function column<T extends Column>(type: ColumnType<T>, bytes: Bytes | undefined, count = 0): T {
  if (bytes === undefined || bytes === null) return new type([]);
  if (Array.isArray(bytes)) return new type(bytes as readonly number[]);
  if (typeof bytes === "string") return column(type, fromBase64(bytes), count);
  const view = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes as ArrayBuffer);
  const sent = NARROWER.get(type)?.[view.byteLength / count - 1];
  if (sent) return new type(new sent(view.slice().buffer));
  const whole = view.byteLength - (view.byteLength % type.BYTES_PER_ELEMENT);
  return new type(view.slice(0, whole).buffer as ArrayBuffer);
}

const decoded = new WeakMap<GraphPayload, Graph>();

export const EMPTY: Graph = decode({
  version: 1,
  strings: [""],
  node: { kind: [], label_s: [], type_s: [], attrs_s: [], name_s: [], span_s: [], group: [], pattern: [] },
  edge: { source: [], target: [], index: [], type_s: [] },
  group: { kind: [], id: [], name_s: [], attrs_s: [], parent: [] },
  output: [],
});

/**
 * Decodes a payload; throws with one sentence where a column's length or an id can't be right. One payload is one graph: that
 * of two pictures is known to be the same.
 */
export function decode(payload: GraphPayload | undefined): Graph {
  if (!payload?.node) return EMPTY;
  const known = decoded.get(payload);
  if (known) return known;
  if (payload.version !== 1)
    throw new Error(`This page reads graphs of version 1, not ${String(payload.version)}: update tvm-workbench.`);
  const { node, edge, group } = payload;
  const [kind, index, groupKind] = [
    column(Uint8Array, node.kind),
    column(Uint16Array, edge?.index),
    column(Uint8Array, group?.kind),
  ];
  const [n, m, g] = [kind.length, index.length, groupKind.length];
  const graph: Graph = {
    strings: payload.strings ?? [""],
    nodeCount: n,
    edgeCount: m,
    groupCount: g,
    kind,
    label: column(Uint32Array, node.label_s, n),
    type: column(Uint32Array, node.type_s, n),
    attrs: column(Uint32Array, node.attrs_s, n),
    name: column(Uint32Array, node.name_s, n),
    span: column(Uint32Array, node.span_s, n),
    group: column(Int32Array, node.group, n),
    pattern: column(Int8Array, node.pattern),
    source: column(Uint32Array, edge?.source, m),
    target: column(Uint32Array, edge?.target, m),
    index,
    edgeType: column(Uint32Array, edge?.type_s, m),
    groupKind,
    groupId: column(Int32Array, group?.id, g),
    groupName: column(Uint32Array, group?.name_s, g),
    groupAttrs: column(Uint32Array, group?.attrs_s, g),
    groupParent: column(Int32Array, group?.parent, g),
    output: column(Uint32Array, payload.output),
  };
  check(graph);
  decoded.set(payload, graph);
  return graph;
}

function check(graph: Graph): void {
  const { nodeCount: n, edgeCount: m, groupCount: g } = graph;
  const short =
    [graph.label, graph.type, graph.attrs, graph.name, graph.span, graph.group, graph.pattern].some(
      (c) => c.length !== n,
    ) ||
    [graph.source, graph.target, graph.edgeType].some((c) => c.length !== m) ||
    [graph.groupId, graph.groupName, graph.groupAttrs, graph.groupParent].some((c) => c.length !== g);
  if (short) throw new Error("The graph's columns differ in length: the Python side and this page disagree.");
  const below = (ids: Uint32Array | Int32Array, limit: number) => ids.every((id) => id < limit);
  const inside =
    below(graph.source, n) &&
    below(graph.target, n) &&
    below(graph.output, n) &&
    below(graph.group, g) &&
    below(graph.groupParent, g);
  if (!inside) throw new Error("The graph refers to a node or group that is not in it.");
  // Python leaves out deeper boxes
  for (let box = 0; box < g; box++)
    for (let at = box, depth = 0; at >= 0; at = graph.groupParent[at] ?? -1)
      if (depth++ > 99) throw new Error("A box of the graph is inside itself, or inside 100 others.");
}

/** A string of the table; "" where there is none. */
export function text(graph: Graph, id: number): string {
  return graph.strings[id] ?? "";
}

/** A node's own text of a column. */
export function textOf(graph: Graph, column: "label" | "type" | "attrs" | "name" | "span", node: number): string {
  return text(graph, graph[column][node] ?? 0);
}
