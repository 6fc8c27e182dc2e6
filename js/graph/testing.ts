/** Small graphs for tests, written as a person would say them. */
import { type GraphPayload, type GroupKind, type Kind } from "../model/messages.ts";
import { decode, GROUP_KINDS, type Graph, KINDS } from "./payload.ts";
import { compare, type Diff, MARKS, type MarkName, type Picture } from "./picture.ts";

export interface NodeSpec {
  label: string;
  kind?: keyof typeof Kind;
  type?: string;
  attrs?: object;
  name?: string;
  group?: number;
  inputs?: number[];
}

export interface GroupSpec {
  kind: keyof typeof GroupKind;
  name: string;
  parent?: number;
  id?: number;
}

const TENSOR = "Tensor[(1, 64), float32]";

export function payload(
  given: NodeSpec[] | string,
  boxes: GroupSpec[] | string = [],
  output: number[] = [],
): Required<GraphPayload> {
  const nodes = typeof given === "string" ? nodesOf(given) : given;
  const groups = typeof boxes === "string" ? groupsOf(boxes) : boxes;
  const strings = [""];
  const at = (text: string) => {
    const known = strings.indexOf(text);
    return known >= 0 ? known : strings.push(text) - 1;
  };
  const edges = nodes.flatMap((node, target) =>
    (node.inputs ?? []).map((source, index) => ({ source, target, index })),
  );
  return {
    version: 1,
    strings,
    node: {
      kind: nodes.map((n) => KINDS.indexOf(n.kind ?? "op")),
      label_s: nodes.map((n) => at(n.label)),
      type_s: nodes.map((n) => at(n.type ?? TENSOR)),
      attrs_s: nodes.map((n) => at(n.attrs ? JSON.stringify(n.attrs) : "")),
      name_s: nodes.map((n) => at(n.name ?? "")),
      span_s: nodes.map(() => 0),
      group: nodes.map((n) => n.group ?? -1),
      pattern: nodes.map(() => -1),
    },
    edge: {
      source: edges.map((e) => e.source),
      target: edges.map((e) => e.target),
      index: edges.map((e) => e.index),
      type_s: edges.map((e) => at(nodes[e.source].type ?? TENSOR)),
    },
    group: {
      kind: groups.map((g) => GROUP_KINDS.indexOf(g.kind)),
      id: groups.map((g, i) => g.id ?? i),
      name_s: groups.map((g) => at(g.name)),
      attrs_s: groups.map(() => 0),
      parent: groups.map((g) => g.parent ?? -1),
    },
    output,
  };
}

export function graph(nodes: NodeSpec[] | string, groups: GroupSpec[] | string = [], output: number[] = []): Graph {
  return decode(payload(nodes, groups, output));
}

/** Nodes as words: a label, after ":" its kind, the ids of its inputs, after "@" its group; "x:param | exp 0 @1 | add 0 1". */
function nodesOf(text: string): NodeSpec[] {
  return text.split(" | ").map((node) => {
    const [, label, kind, inputs, group] = /^(\S+?)(?::([a-z_]+))?((?: \d+)*)(?: @(\d+))?$/.exec(node) ?? [];
    if (!label) throw new Error(`not a node: ${node}`);
    return {
      label,
      kind: (kind ?? "op") as keyof typeof Kind,
      inputs: inputs.trim().split(" ").filter(Boolean).map(Number),
      group: Number(group ?? -1),
    };
  });
}

/** Groups as words: kind, name, after "#" what Python calls it; "scope:layer_0 | primitive:fused #7". */
function groupsOf(text: string): GroupSpec[] {
  return text.split(" | ").map((group, i) => {
    const [kind, name, id = i] = group.split(/:| #/);
    return { kind: kind as GroupSpec["kind"], name, id: Number(id) };
  });
}

/** Marks and pairs of ids as words: "kept added", "0-0 1-1". */
export function diff(before: string | string[], after: string | string[], pairs: string | [number, number][]): Diff {
  const marks = (names: string | string[]) =>
    Uint8Array.from(typeof names === "string" ? names.split(" ") : names, (name) => MARKS.indexOf(name as MarkName));
  const ids = typeof pairs === "string" ? pairs.split(/[ -]/).map(Number) : pairs.flat();
  return { before_mark: marks(before), after_mark: marks(after), pairs: Uint32Array.from(ids) };
}

/** Of two graphs with the same nodes. */
export function unchanged(count: number): Diff {
  const ids = Array.from({ length: count }, (_, i): [number, number] => [i, i]);
  const kept = ids.map(() => "kept");
  return diff(kept, kept, ids);
}

/** x -> cast -> relu, x -> cast -> relu, both into add; and after merging the casts and relus, fused or not. */
export function parallelCast(fused = true) {
  const before = graph("x:param | cast 0 | nn.relu 1 | cast 0 | nn.relu 3 | add 2 4", [], [5]);
  const g = fused ? 0 : -1;
  const after = graph(
    [
      { label: "x", kind: "param" },
      { label: "cast", inputs: [0], group: g },
      { label: "nn.relu", inputs: [1], group: g },
      { label: "add", inputs: [2, 2] },
    ],
    fused ? [{ kind: "primitive", name: "fused_cast_nn_relu" }] : [],
    [3],
  );
  return {
    before,
    after,
    diff: diff("kept merged merged merged merged kept", "kept merged merged kept", "0-0 1-1 2-2 3-1 4-2 5-3"),
  };
}

/** The comparison of the two. */
export function castPicture(fused = true): Picture {
  const { before, after, diff } = parallelCast(fused);
  return compare(before, after, diff);
}
