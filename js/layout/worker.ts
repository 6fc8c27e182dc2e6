/** The worker's side: one engine, so that levels stay cached between pictures. An error is a reply, not the end. */
import { LayoutEngine } from "./compound";
import { warmUp } from "./warmup";
import { buffersOf, type Reply, type Request } from "./messages";

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<Request>) => void) | null;
  postMessage(reply: Reply, transfer?: Transferable[]): void;
};
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
