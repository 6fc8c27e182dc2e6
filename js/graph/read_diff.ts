/** The difference of two graphs as Python sends it, with lowering (workbench/graph/changes.py) as a change or as none. */
import { type DiffPayload } from "../model/messages.ts";
import { column } from "./payload.ts";
import { type Diff, MARKS } from "./picture.ts";

export function readDiff(raw: DiffPayload | undefined, lowering = false): Diff {
  const pairs = column(Uint32Array, raw?.pairs);
  const [before_mark, after_mark] = [raw?.before_mark, raw?.after_mark].map((marks, s) => {
    const paired = new Set(lowering ? pairs.filter((_, i) => i % 2 === s) : []);
    const shown = (v: number) => (!lowering ? "kept" : paired.has(v) ? "changed" : s === 0 ? "removed" : "added");
    return column(Uint8Array, marks).map((mark, v) => (mark < MARKS.length ? mark : MARKS.indexOf(shown(v))));
  });
  const lowers = column(Uint8Array, raw?.after_mark).some((mark) => mark >= MARKS.length);
  return { before_mark, after_mark, pairs, lowers };
}
