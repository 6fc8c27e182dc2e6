/**
 * Which node of a new picture is which node of the picture before it, when nothing but the two pictures is known
 * (a toggle gives new graphs). Used to keep things in place, so a wrong guess costs a glide, never a wrong fact.
 */
import { text, type Graph } from "./payload.ts";
import { type Picture } from "./picture.ts";

/** For each node of `next`, a node of `old` or -1. */
export function carry(old: Picture, next: Picture): Int32Array {
  const found = new Int32Array(next.nodeCount).fill(-1);
  const taken = new Uint8Array(old.nodeCount);
  const names = new Map<string, number>();
  // Exact first (everything that leads to the node is equal), then by name, type and order of appearance.
  for (const key of [inputsKey(names), looksKey(names)]) {
    for (const s of [0, 1] as const) {
      const waiting = new Map<number, number[]>();
      const oldKeys = key(old.sides[s]);
      for (let v = oldKeys.length - 1; v >= 0; v--) {
        const u = old.node[s][v];
        if (taken[u]) continue;
        const list = waiting.get(oldKeys[v]);
        if (list) list.push(u);
        else waiting.set(oldKeys[v], [u]);
      }
      const keys = key(next.sides[s]);
      for (let v = 0; v < keys.length; v++) {
        const u = next.node[s][v];
        if (found[u] >= 0) continue;
        const list = waiting.get(keys[v]);
        let from = list?.pop();
        while (from !== undefined && taken[from]) from = list?.pop();
        if (from === undefined) continue;
        found[u] = from;
        taken[from] = 1;
      }
    }
  }
  return found;
}

type KeyOf = (graph: Graph) => Uint32Array;

function number(names: Map<string, number>, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, names.size + 1);
  return names.size;
}

function looksKey(names: Map<string, number>): KeyOf {
  return (graph) => {
    const keys = new Uint32Array(graph.nodeCount);
    for (let v = 0; v < keys.length; v++) {
      keys[v] = number(names, `${graph.kind[v]}|${text(graph, graph.label[v])}|${text(graph, graph.type[v]).slice(0, 200)}`);
    }
    return keys;
  };
}

function inputsKey(names: Map<string, number>): KeyOf {
  return (graph) => {
    const inputs: string[] = new Array<string>(graph.nodeCount).fill("");
    const keys = new Uint32Array(graph.nodeCount);
    const order = Array.from({ length: graph.edgeCount }, (_, e) => e).sort((a, b) => graph.target[a] - graph.target[b]);
    let i = 0;
    for (let v = 0; v < keys.length; v++) {
      // Nodes come producers first, so every input's key is known here.
      for (; i < order.length && graph.target[order[i]] === v; i++) inputs[v] += `,${graph.index[order[i]]}:${keys[graph.source[order[i]]]}`;
      keys[v] = number(names, `=${graph.kind[v]}|${text(graph, graph.label[v])}|${text(graph, graph.attrs[v]).slice(0, 200)}${inputs[v]}`);
    }
    return keys;
  };
}

export function carriedGroups(old: Picture, next: Picture, nodes: Int32Array): Int32Array {
  const votes = new Map<number, Map<number, number>>();
  for (let u = 0; u < next.nodeCount; u++) {
    if (nodes[u] < 0) continue;
    let h = old.group[nodes[u]];
    for (let g = next.group[u]; g >= 0 && h >= 0; g = next.groups.parent[g], h = old.groups.parent[h]) {
      const tally = votes.get(g) ?? new Map<number, number>();
      tally.set(h, (tally.get(h) ?? 0) + 1);
      votes.set(g, tally);
    }
  }
  const out = new Int32Array(next.groups.count).fill(-1);
  for (const [g, tally] of votes) {
    let most = 0;
    for (const [h, count] of tally) {
      if (count > most && next.groups.kind[g] === old.groups.kind[h]) { most = count; out[g] = h; }
    }
  }
  return out;
}

