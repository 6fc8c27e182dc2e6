/** Small changes to a graph, of the kind a pass makes. */
import { type LayoutInput } from "../types.ts";

/** Drops nodes and joins their producers to their consumers, as removing a cast does. */
export function without(
  input: LayoutInput,
  drop: (node: number) => boolean,
): { input: LayoutInput; kept: [number, number][] } {
  const count = input.nodes.width.length,
    number = new Int32Array(count).fill(-1);
  const kept: [number, number][] = [];
  for (let n = 0; n < count; n++) {
    if (drop(n)) continue;
    number[n] = kept.length;
    kept.push([n, number[n]]);
  }
  const firstInput = new Int32Array(count).fill(-1);
  input.edges.target.forEach((t, e) => {
    if (firstInput[t] < 0) firstInput[t] = input.edges.source[e];
  });
  const source: number[] = [],
    target: number[] = [],
    port: number[] = [];
  input.edges.target.forEach((t, e) => {
    let s = input.edges.source[e];
    while (s >= 0 && number[s] < 0) s = firstInput[s];
    if (s < 0 || number[t] < 0) return;
    source.push(number[s]);
    target.push(number[t]);
    port.push(input.edges.port[e]);
  });
  const pick = (column: Float32Array): Float32Array => Float32Array.from(kept, ([n]) => column[n]);
  return {
    kept,
    input: {
      nodes: {
        width: pick(input.nodes.width),
        height: pick(input.nodes.height),
        group: Int32Array.from(kept, ([n]) => input.nodes.group[n]),
      },
      edges: { source: Uint32Array.from(source), target: Uint32Array.from(target), port: Uint16Array.from(port) },
      groups: input.groups,
    },
  };
}
