/** Groups as one side has them. */
import { type Visible } from "../graph/visible.ts";
import { HEADER } from "./content.ts";
import { PADDING } from "./question.ts";

/**
 * A box that also holds nodes of the other side is drawn around this side's only: its kernel is as large as its ops.
 * What is empty on this side gets a box without area.
 */
export function sideBoxes(
  visible: Visible,
  items: Float32Array,
  groupBox: Float32Array,
  minWidth: Float32Array,
  sides: number,
): Float32Array {
  if (!visible.picture.compares || sides === 3) return groupBox;
  const out = groupBox.slice();
  const whole = new Uint8Array(visible.open.length).fill(1);
  const bounds = new Float32Array(groupBox.length);
  for (let g = 0; g < visible.open.length; g++) bounds.set([Infinity, Infinity, -Infinity, -Infinity], 4 * g);
  const widen = (g: number, x0: number, y0: number, x1: number, y1: number) =>
    bounds.set(
      [
        Math.min(bounds[4 * g], x0),
        Math.min(bounds[4 * g + 1], y0),
        Math.max(bounds[4 * g + 2], x1),
        Math.max(bounds[4 * g + 3], y1),
      ],
      4 * g,
    );
  for (let i = 0; i < visible.count; i++) {
    const g = visible.parent[i];
    if (g < 0) continue;
    if (visible.side[i] & sides) widen(g, items[4 * i], items[4 * i + 1], items[4 * i + 2], items[4 * i + 3]);
    else whole[g] = 0;
  }
  // Innermost first: open groups come parents first.
  for (let g = visible.open.length - 1; g >= 0; g--) {
    const [x0, y0, x1, y1] = bounds.subarray(4 * g, 4 * g + 4);
    if (!whole[g]) {
      const [lx, ly, lw, lh] = groupBox.subarray(4 * g, 4 * g + 4);
      if (x0 > x1) out.set([lx, ly, 0, 0], 4 * g);
      else {
        const left = Math.max(lx, x0 - PADDING);
        const top = Math.max(ly, y0 - PADDING - HEADER);
        const right = Math.min(lx + lw, Math.max(x1 + PADDING, left + minWidth[g]));
        out.set([left, top, right - left, Math.min(ly + lh, y1 + PADDING) - top], 4 * g);
      }
    }
    const above = visible.openParent[g];
    if (above < 0 || out[4 * g + 2] === 0) continue;
    widen(above, out[4 * g], out[4 * g + 1], out[4 * g] + out[4 * g + 2], out[4 * g + 1] + out[4 * g + 3]);
    if (!whole[g]) whole[above] = 0;
  }
  return out;
}
