/**
 * Very deep models have more layers than a person reads at once: numbered scopes beside each other, "layer_0",
 * "layer_1" and so on, are put into one level more, "layer_0–49 ×50".
 */
import { GroupKind } from "../model/messages.ts";
import { type PictureGroups } from "./picture_groups.ts";

/** Siblings that still are a readable list. */
const MANY = 100;
/** Chunks wanted at most; their size is a round number. */
const CHUNKS = 30;

interface Numbered {
  group: number;
  number: number;
  /** The name around its number, and the number as it is written. */
  before: string;
  digits: string;
  after: string;
}

export function foldLayers(groups: PictureGroups): PictureGroups {
  const families = new Map<string, Numbered[]>();
  for (let g = 0; g < groups.count; g++) {
    const found = groups.kind[g] === GroupKind.scope ? /^(.{0,200}?)(\d{1,7})(\D{0,200})$/.exec(groups.name[g]) : null;
    if (!found) continue;
    const key = `${groups.parent[g]}|${found[1]}|${found[3]}`;
    const family = families.get(key) ?? [];
    family.push({ group: g, number: Number(found[2]), digits: found[2], before: found[1], after: found[3] });
    families.set(key, family);
  }
  const many = [...families.values()].filter((family) => family.length > MANY);
  return many.length === 0 ? groups : withChunks(groups, many);
}

function withChunks(groups: PictureGroups, families: Numbered[][]): PictureGroups {
  const kind = [...groups.kind];
  const parent = [...groups.parent];
  const side = [...groups.side];
  const name = [...groups.name];
  for (const family of families) {
    const size = roundSize(family.length);
    family.sort((a, b) => a.number - b.number || a.group - b.group);
    for (let from = 0; from < family.length; from += size) {
      const members = family.slice(from, from + size).map((f) => f.group);
      const chunk = parent.length;
      parent.push(parent[members[0]]);
      kind.push(GroupKind.scope);
      side.push(members.reduce((bits, g) => bits | groups.side[g], 0));
      name.push(rangeName(family.slice(from, from + size)));
      for (const g of members) parent[g] = chunk;
    }
  }
  const none = (ids: Int32Array) => Int32Array.from(parent, (_, g) => ids[g] ?? -1);
  return {
    count: parent.length,
    kind: Uint8Array.from(kind),
    parent: Int32Array.from(parent),
    side: Uint8Array.from(side),
    name,
    id: [none(groups.id[0]), none(groups.id[1])],
  };
}

function rangeName(layers: Numbered[]): string {
  const [first, last] = [layers[0], layers[layers.length - 1]];
  return `${first.before}${first.digits}–${last.digits}${first.after} ×${layers.length}`;
}

function roundSize(count: number): number {
  for (let ten = 10; ; ten *= 10) for (const size of [ten, 2 * ten, 5 * ten]) if (count / size <= CHUNKS) return size;
}
