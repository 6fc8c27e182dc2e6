/** The difference of two graphs as Python sends it. */
import { type DiffPayload } from "../model/messages.ts";
import { column } from "./payload.ts";
import { type Diff } from "./picture.ts";

export function readDiff(raw: DiffPayload | undefined): Diff {
  return {
    before_mark: column(Uint8Array, raw?.before_mark),
    after_mark: column(Uint8Array, raw?.after_mark),
    pairs: column(Uint32Array, raw?.pairs),
  };
}
