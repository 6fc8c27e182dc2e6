// Our own engine behind the peers' interface.
import { loadEngine } from "../engine.mjs";

const { layout: run } = await loadEngine();

export function layout(input) {
  const { edgePoints, edgeOffset, width, height } = run(input);
  const lines = Array.from(input.edges.source, (_, e) => Array.from(edgePoints.subarray(2 * edgeOffset[e], 2 * edgeOffset[e + 1])));
  return { lines, width, height };
}
