/** Which groups start collapsed, so that the first picture can be read. */
import { GroupKind, Kind } from "./payload.ts";
import { sideOf, type Picture } from "./picture.ts";

/** More items than this at once is not a picture a person reads. */
export const READABLE = 300;
/** Kernels are what people look for, so they stay open far longer than scopes do. */
const KERNELS_READABLE = 2500;

export function initiallyCollapsed(picture: Picture, showConstants = false): Set<number> {
  const collapsed = new Set<number>();
  const { kind, count } = picture.groups;
  if (count === 0 || items(picture, collapsed, showConstants) <= READABLE) return collapsed;
  for (let g = 0; g < count; g++) if (kind[g] === GroupKind.scope) collapsed.add(g);
  if (items(picture, collapsed, showConstants) > KERNELS_READABLE) {
    for (let g = 0; g < count; g++) if (kind[g] !== GroupKind.function) collapsed.add(g);
  }
  return collapsed;
}

/** About how many items would be drawn: counted without working out badges and edges, since this is asked first. */
function items(picture: Picture, collapsed: ReadonlySet<number>, showConstants: boolean): number {
  const { parent, count } = picture.groups;
  const hidden = new Uint8Array(count);
  for (let g = 0; g < count; g++) for (let h = g; h >= 0 && !hidden[g]; h = parent[h]) if (collapsed.has(h)) hidden[g] = 1;
  let total = 0;
  for (let g = 0; g < count; g++) if (hidden[g] && (parent[g] < 0 || !hidden[parent[g]])) total++;
  for (let u = 0; u < picture.nodeCount; u++) {
    if (picture.group[u] >= 0 && hidden[picture.group[u]]) continue;
    const s = sideOf(picture, u, 1);
    const kind = picture.sides[s].kind[picture.id[s][u]];
    const folds = kind === Kind.constant || kind === Kind.param || kind === Kind.tuple || kind === Kind.getItem;
    if (showConstants || !folds) total++;
  }
  return total;
}
