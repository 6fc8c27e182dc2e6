/** Which groups start collapsed, so that the first picture can be read. */
import { GroupKind, Kind, type Sides } from "../model/messages.ts";
import { basisOf } from "./basis.ts";
import { changedNodes } from "./neighbours.ts";
import { kindOf, type Picture } from "./picture.ts";
import { outermostCollapsed } from "./visible.ts";

/** More items than this at once is not a picture a person reads. */
const READABLE = 300;
/** Kernels are what people look for, so they stay open far longer than scopes do. */
const KERNELS_READABLE = 2500;

export function initiallyCollapsed(picture: Picture, showConstants = false): Set<number> {
  const { kind, count } = picture.groups;
  if (count === 0 || items(picture, new Set(), showConstants) <= READABLE) return new Set();
  const collapsed = outermostClosed(picture, scopesOf(picture), new Set(), showConstants);
  if (items(picture, collapsed, showConstants) > KERNELS_READABLE) {
    for (let g = 0; g < count; g++) if (kind[g] !== GroupKind.function) collapsed.add(g);
  }
  return collapsed;
}

/** Fewer boxes than this at the top level say less than the level beneath it. */
const FEWEST = 4;

/** For a first picture larger than its pane: the outermost scopes closed, except those that hold a change, unless all do. */
export function scopesClosed(picture: Picture, collapsed: ReadonlySet<number>, showConstants = false): Set<number> {
  const { parent, count } = picture.groups;
  const changed = new Uint8Array(count);
  for (const u of picture.compares ? changedNodes(picture) : [])
    for (let g = picture.group[u]; g >= 0 && !changed[g]; g = parent[g]) changed[g] = 1;
  const scopes = scopesOf(picture);
  const calm = scopes.filter((g) => !changed[g]);
  return outermostClosed(picture, calm.length > 0 ? calm : scopes, collapsed, showConstants);
}

function scopesOf({ groups: { kind, count } }: Picture): number[] {
  return Array.from({ length: count }, (_, g) => g).filter((g) => kind[g] === GroupKind.scope);
}

/** The scopes closed from the outermost level on that leaves enough boxes to see. */
function outermostClosed(
  picture: Picture,
  scopes: readonly number[],
  collapsed: ReadonlySet<number>,
  showConstants: boolean,
): Set<number> {
  const { kind, parent } = picture.groups;
  const depth = (g: number) => {
    let found = 0;
    for (let h = parent[g]; h >= 0; h = parent[h]) if (kind[h] === GroupKind.scope) found++;
    return found;
  };
  const depths = scopes.map(depth);
  const deepest = depths.reduce((most, each) => Math.max(most, each), -1);
  for (let level = 0; level <= deepest; level++) {
    const closed = new Set([...collapsed, ...scopes.filter((_, i) => depths[i] >= level)]);
    if (items(picture, closed, showConstants) >= FEWEST) return closed;
  }
  return new Set(collapsed);
}

/** About how many items would be drawn: counted without working out badges and edges, since this is asked first. */
function items(picture: Picture, collapsed: ReadonlySet<number>, showConstants: boolean): number {
  const hiding = outermostCollapsed(picture, basisOf(picture).groupOrder, collapsed);
  let total = hiding.filter((h, g) => h === g).length;
  for (let u = 0; u < picture.nodeCount; u++) {
    if (picture.group[u] >= 0 && hiding[picture.group[u]] >= 0) continue;
    const kind = kindOf(picture, u);
    const folds = kind === Kind.constant || kind === Kind.param || kind === Kind.tuple || kind === Kind.get_item;
    if (showConstants || !folds) total++;
  }
  return total;
}

/** Return the ids that Python gets. A level that was put in for very many layers has no id there, so its members speak for it. */
export function toPython(picture: Picture, collapsed: ReadonlySet<number>): number[] | Sides {
  const { groups } = picture;
  const all = new Set(collapsed);
  for (let g = 0; g < groups.count; g++) {
    for (let h = groups.parent[g]; h >= 0 && isOurs(picture, h); h = groups.parent[h]) if (collapsed.has(h)) all.add(g);
  }
  const ids = (s: 0 | 1) =>
    [...all]
      .filter((g) => groups.id[s][g] >= 0)
      .map((g) => picture.sides[s].groupId[groups.id[s][g]])
      .sort((a, b) => a - b);
  return picture.compares ? { before: ids(0), after: ids(1) } : ids(0);
}

/** The picture's groups for Python's ids; null where Python leaves the choice to the view. */
export function fromPython(picture: Picture, ids: readonly number[] | Sides | null | undefined): Set<number> | null {
  if (!ids) return null;
  const wanted = ("length" in ids ? [ids] : [ids.before, ids.after]).map((list) => new Set(list));
  const { groups } = picture;
  const collapsed = new Set<number>();
  for (let g = 0; g < groups.count; g++) {
    if (
      ([0, 1] as const).some((s) => groups.id[s][g] >= 0 && wanted[s]?.has(picture.sides[s].groupId[groups.id[s][g]]))
    )
      collapsed.add(g);
  }
  closeOurs(picture, collapsed);
  return collapsed;
}

/** A group that only the page has: see picture_groups.ts. */
function isOurs(picture: Picture, g: number): boolean {
  return picture.groups.id[0][g] < 0 && picture.groups.id[1][g] < 0;
}

/** The page's own levels are closed where everything in them is. */
function closeOurs(picture: Picture, collapsed: Set<number>): void {
  const { parent, count } = picture.groups;
  const children = new Map<number, number[]>();
  for (let g = 0; g < count; g++)
    if (parent[g] >= 0 && isOurs(picture, parent[g])) children.set(parent[g], [...(children.get(parent[g]) ?? []), g]);
  const closed = (g: number): boolean => {
    const inside = children.get(g);
    if (inside?.map(closed).every(Boolean)) collapsed.add(g);
    return collapsed.has(g);
  };
  for (const g of children.keys()) closed(g);
}
