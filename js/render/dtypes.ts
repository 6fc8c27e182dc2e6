/**
 * Edges by data type, on request: an int32 that goes from one kernel to another where int8 would do stands out.
 * The type is also written on each edge, so that the colour is never alone.
 */
import { compactType } from "../graph/labels.ts";
import { type Theme } from "./theme.ts";

const LIGHT: Record<string, string> = { int8: "#0072b2", uint8: "#0072b2", int16: "#009e73", float16: "#009e73", bfloat16: "#009e73", int32: "#d55e00", int64: "#b0578d", bool: "#8a7a00", float64: "#b0578d" };
const DARK: Record<string, string> = { int8: "#56b4e9", uint8: "#56b4e9", int16: "#2fc79b", float16: "#2fc79b", bfloat16: "#2fc79b", int32: "#ff8a3c", int64: "#e08fbd", bool: "#d8c545", float64: "#e08fbd" };

/** The one data type of all tensors on an edge, "mixed" where there are several, "" where there is none. */
export function edgeDtype(type: string): string {
  const all = new Set([...compactType(type).matchAll(/\)\s*([a-z]\w*)/g)].map(([, name]) => name));
  return all.size === 0 ? "" : all.size === 1 ? [...all][0] : "mixed";
}

/** float32 is what most models are made of: it stays neutral. */
export function dtypeColor(dtype: string, theme: Theme): string {
  return (theme.dark ? DARK : LIGHT)[dtype] ?? theme.edge;
}
