/** A node's way through a trace by the differences alone: what a saved page shows, where no kernel can be asked. */
import { decode, GroupKind, text, type Graph } from "../graph/payload.ts";
import { column } from "../graph/payload.ts";
import { Mark } from "../graph/picture.ts";
import { partners } from "./composed.ts";
import { type Place, type StepState } from "./messages.ts";
import { type TraceStore } from "./trace_store.ts";

export function follow(store: TraceStore, steps: readonly StepState[], state: number, node: number, count: number): Place[] {
  const places: Place[] = [];
  const walk = (from: number, way: 1 | -1) => {
    let ids = [node];
    for (let n = from; n + way >= 0 && n + way < count; n += way) {
      const diff = store.diff([Math.min(n, n + way), Math.max(n, n + way)]);
      if (!diff) return;
      const pairs = [...partners(diff)].flatMap(([v, list]) => list.map((w) => (way > 0 ? [v, w] : [w, v])));
      const marks = column(Uint8Array, way > 0 ? diff.before_mark : diff.after_mark);
      const sure = ids.every((v) => marks[v] === Mark.kept) ? "exact" : "structural";
      const next = [...new Set(pairs.filter(([v]) => ids.includes(v)).map(([, w]) => w))].sort((a, b) => a - b);
      if (way > 0) places[n + 1] = place(store, steps, n + 1, next, next.length > 0 ? sure : "");
      else {
        places[n] = { ...(places[n] ?? place(store, steps, n, ids, "")), sure: next.length > 0 ? sure : "" };
        places[n - 1] = place(store, steps, n - 1, next, "");
      }
      ids = next;
    }
  };
  places[state] = place(store, steps, state, [node], "");
  walk(state, 1);
  walk(state, -1);
  return places.filter(Boolean);
}

function place(store: TraceStore, steps: readonly StepState[], state: number, ids: number[], sure: string): Place {
  const graph = decode(store.graph(state));
  const kernels = ids.map((v) => kernelOf(graph, v)).filter((g) => g >= 0).map((g) => text(graph, graph.groupName[g]));
  // The innermost of the passes that gave this state made it.
  const made = steps.map((step, i) => ({ ...step, i })).filter((step) => step.after === state && step.before !== state).sort((a, b) => b.depth - a.depth)[0];
  return { state, step: made?.i ?? -1, ids, ops: [...new Set(ids.map((v) => text(graph, graph.label[v])))], kernels: [...new Set(kernels)], sure };
}

function kernelOf(graph: Graph, node: number): number {
  let found = -1;
  for (let g = graph.group[node]; g >= 0; g = graph.groupParent[g]) if (graph.groupKind[g] === GroupKind.primitive || graph.groupKind[g] === GroupKind.external) found = g;
  return found;
}
