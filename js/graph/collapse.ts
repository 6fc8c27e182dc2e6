/** Which groups start collapsed, so that the first picture can be read. */
import { GroupKind } from "./payload.ts";
import { type Picture } from "./picture.ts";
import { DEFAULT_OPTIONS, visible } from "./visible.ts";

/** More items than this at once is not a picture a person reads. */
export const READABLE = 300;
/** Kernels are what people look for, so they stay open far longer than scopes do. */
const KERNELS_READABLE = 2500;

export function initiallyCollapsed(picture: Picture, showConstants = false): Set<number> {
  const collapsed = new Set<number>();
  if (picture.nodeCount <= READABLE || picture.groups.count === 0) return collapsed;
  const options = { ...DEFAULT_OPTIONS, collapsed, showConstants };
  if (visible(picture, options).count <= READABLE) return collapsed;
  for (let g = 0; g < picture.groups.count; g++) if (picture.groups.kind[g] === GroupKind.scope) collapsed.add(g);
  if (picture.nodeCount > KERNELS_READABLE && visible(picture, options).count > KERNELS_READABLE) {
    for (let g = 0; g < picture.groups.count; g++) if (picture.groups.kind[g] !== GroupKind.function) collapsed.add(g);
  }
  return collapsed;
}
