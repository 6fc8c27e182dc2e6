/** Which items are drawn faintly, and how faintly. */
import { type Visible } from "../graph/visible.ts";

/** Just enough to see that something is there. */
export const MUTED = 0.16;

/** Items all of whose nodes are muted; a weight that stands on its consumer says nothing about the consumer. */
export function mutedItems(visible: Visible, nodes: Uint8Array): ReadonlySet<number> {
  const [muted, loud] = [new Set<number>(), new Set<number>()];
  visible.itemOf.forEach((item, u) => {
    if (item < 0 || (visible.node[item] >= 0 && visible.node[item] !== u)) return;
    (nodes[u] ? muted : loud).add(item);
  });
  for (const item of loud) muted.delete(item);
  return muted;
}
