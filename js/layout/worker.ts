/** The worker's side: one engine, so that levels stay cached between pictures. An error is a reply, not the end. */
import { LayoutEngine } from "./compound.ts";
import { buffersOf, type Reply, type Request } from "./messages.ts";
import { warmUp } from "./warmup.ts";

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

// On a page without workers the same program is a module for its engine: see worker_source.ts.
if ("WorkerGlobalScope" in globalThis) answer(globalThis as unknown as Scope);

export { LayoutEngine };
