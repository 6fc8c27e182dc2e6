/** What travels between client.ts and worker.ts. */
import { type LayoutInput, type LayoutResult } from "./types.ts";

export interface Request {
  id: number;
  input: LayoutInput;
}

export type Reply = { id: number; result: LayoutResult } | { id: number; error: string };

/** The result's buffers, to be handed over instead of copied. */
export function buffersOf(result: LayoutResult): Transferable[] {
  return [result.x, result.y, result.groupBox, result.edgePoints, result.edgeOffset].map(
    (array) => array.buffer as ArrayBuffer,
  );
}
