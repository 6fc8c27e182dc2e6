/**
 * Edges by data type, on request: an int32 that goes from one kernel to another where int8 would do stands out.
 * The type is also written on each edge, so that the colour is never alone.
 */
import { compactType } from "../graph/labels.ts";
import { DTYPES } from "./colours.ts";
import { type Theme } from "./theme.ts";

/** The one data type of all tensors on an edge, "mixed" where there are several, "" where there is none. */
export function edgeDtype(type: string): string {
  const all = new Set([...compactType(type).matchAll(/\)\s*([a-z]\w*)/g)].map(([, name]) => name));
  return all.size === 0 ? "" : all.size === 1 ? [...all][0] : "mixed";
}

/** float32 is what most models are made of: it stays neutral. */
export function dtypeColor(dtype: string, theme: Theme): string {
  return DTYPES[dtype]?.[Number(theme.dark)] ?? theme.edge;
}
