/** The worker's side: one engine, so that levels stay cached between pictures. An error is a reply, not the end. */
import { LayoutEngine } from "./compound.ts";
import { buffersOf, type LayoutInput, type Reply, type Request } from "./types.ts";

interface Scope {
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  postMessage(reply: Reply, transfer?: Transferable[]): void;
}

function answer(scope: Scope): void {
  const engine = new LayoutEngine();
  let asked = false;
  scope.onmessage = ({ data: { id, input } }) => {
    asked = true;
    try {
      const result = engine.layout(input);
      scope.postMessage({ id, result }, buffersOf(result));
    } catch (error) {
      scope.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
    }
  };
  warmUp(() => asked);
}

const TURNS = 3;

/**
 * The work of a worker before its first request: pictures of a small made-up graph, so that the browser has
 * compiled the engine before the first real one. In short turns, because a question must not wait for them.
 */
function warmUp(asked: () => boolean): void {
  let turn = 0;
  const next = (): void => {
    if (asked() || turn >= TURNS) return;
    const engine = new LayoutEngine(),
      input = example(32 + 4 * turn++),
      { x, y } = engine.layout(input);
    engine.layout({ ...input, seed: { x: x.map((at, i) => (i % 9 === 4 ? NaN : at)), y } });
    setTimeout(next, 0);
  };
  setTimeout(next, 0);
}

/** Blocks in a row, with groups and skips: the shapes that models have. */
function example(count: number): LayoutInput {
  const groups = Math.ceil(count / 8),
    nodes = [...Array(count).keys()];
  const edges = [
    ...nodes.slice(1).map((n) => [n - 1, n, 0]),
    ...nodes.filter((n) => n % 8 === 6).map((n) => [n - 5, n, 1]),
    ...nodes.filter((n) => n % 16 === 15).map((n) => [n - 11, n, 1]),
  ];
  return {
    nodes: {
      width: Float32Array.from(nodes, (n) => 60 + 10 * (n % 7)),
      height: new Float32Array(count).fill(40),
      group: Int32Array.from(nodes, (n) => (n % 8 === 7 ? -1 : n >> 3)),
    },
    edges: {
      source: Uint32Array.from(edges, ([from]) => from),
      target: Uint32Array.from(edges, ([, to]) => to),
      port: Uint16Array.from(edges, ([, , port]) => port),
    },
    groups: {
      parent: Int32Array.from({ length: groups }, (_, g) => (g % 3 === 0 ? -1 : g - 1)),
      headerHeight: new Float32Array(groups).fill(20),
      minWidth: new Float32Array(groups).fill(80),
    },
  };
}

// On a page without workers the same program is a module for its engine: see engineHere in client.ts.
if ("WorkerGlobalScope" in globalThis) answer(globalThis as unknown as Scope);

export { LayoutEngine };
