/**
 * A level's whole content as one run of 32-bit words, written into a buffer that all levels share: it is compared with
 * what is remembered before anything else is made of it, so a level that is known costs no more than this.
 */
import { BOX } from "./hierarchy.ts";
import { type LevelGraph, type LevelLayout, type Spacing } from "./level.ts";

const HEAD = 4;

/** The columns in their order: floats by item and by wire, then words by item and by wire. */
const FLOATS_BY_ITEM = ["width", "height", "head", "foot", "give", "seedX", "seedY"] as const;
const FLOATS_BY_WIRE = ["targetShift", "sourceShift"] as const;
const WORDS_BY_ITEM = ["kind", "mainEntry"] as const;
const WORDS_BY_WIRE = ["mainWire", "source", "target", "net", "targetPort", "sourcePort"] as const;
const FLOATS = [...FLOATS_BY_ITEM, ...FLOATS_BY_WIRE] as const;
const BY_ITEM: ReadonlySet<string> = new Set([...FLOATS_BY_ITEM, ...WORDS_BY_ITEM]);
const COLUMNS = [...FLOATS, ...WORDS_BY_ITEM, ...WORDS_BY_WIRE] as const;

/** Where each column begins, and the size of the whole. */
type Places = Record<(typeof COLUMNS)[number] | "size", number>;

function placesOf(items: number, wires: number): Places {
  const at = { size: HEAD } as Places;
  for (const name of COLUMNS) {
    at[name] = at.size;
    at.size += BY_ITEM.has(name) ? items : wires;
  }
  return at;
}

export class LevelWriter {
  words = new Uint32Array(1024);
  floats = new Float32Array(this.words.buffer);
  at = placesOf(0, 0);

  /** A level whose columns are all 0. */
  begin(items: number, wires: number, spacing: Spacing): void {
    this.at = placesOf(items, wires);
    if (this.words.length < this.at.size) {
      this.words = new Uint32Array(2 * this.at.size);
      this.floats = new Float32Array(this.words.buffer);
    }
    this.words.fill(0, 0, this.at.size);
    this.words[0] = items;
    this.words[1] = wires;
    this.floats[2] = spacing.nodeGap;
    this.floats[3] = spacing.layerGap;
  }

  /** What was written; valid until the next level begins. */
  key(): Uint32Array {
    return this.words.subarray(0, this.at.size);
  }
}

/** The level that a key describes, in the key's own memory. */
export function levelOf(key: Uint32Array): LevelGraph {
  const [items, wires] = key,
    at = placesOf(items, wires),
    floats = new Float32Array(key.buffer, key.byteOffset, key.length);
  const columns = COLUMNS.map((name, i) => {
    const end = at[name] + (BY_ITEM.has(name) ? items : wires);
    return [name, (i < FLOATS.length ? floats : key).subarray(at[name], end)];
  });
  return Object.fromEntries(columns) as LevelGraph;
}

/** The key of the same level, when everything is where a layout has put it: the key no longer depends on what could move. */
export function settledKey(key: Uint32Array, layout: LevelLayout): Uint32Array {
  const out = withoutGive(key),
    { kind, seedX, seedY } = levelOf(out);
  seedX.forEach((_, i) => {
    seedX[i] = kind[i] === BOX ? layout.x[i] : NaN;
  });
  seedY.forEach((_, i) => {
    seedY[i] = kind[i] === BOX ? layout.y[i] : NaN;
  });
  relate(seedX, 0, seedX.length);
  relate(seedY, 0, seedY.length);
  return out;
}

/** A copy of a key in which no group can give way. */
export function withoutGive(key: Uint32Array): Uint32Array {
  const out = key.slice();
  levelOf(out).give.fill(0);
  return out;
}

/** Seeds count only up to a translation: a layer that moved as a whole is the same layer. */
export function relate(floats: Float32Array, from: number, count: number): void {
  let i = from;
  while (i < from + count && Number.isNaN(floats[i])) i++;
  if (i === from + count) return;
  const origin = floats[i];
  for (; i < from + count; i++) floats[i] = Math.round(16 * (floats[i] - origin)) / 16;
}

const KEPT_PICTURES = 8;

/**
 * Level layouts by content. The key is everything the layout depends on, compared in full: a hash only finds the
 * candidate. Entries that the last pictures did not use are dropped, so that the cache is about as large as a picture.
 */
export class LevelCache {
  private readonly buckets = new Map<number, { key: Uint32Array; layout: LevelLayout; used: number }[]>();
  private picture = 0;

  /** What was put under an equal key. */
  find(key: Uint32Array): LevelLayout | undefined {
    for (const entry of this.buckets.get(hashOf(key)) ?? []) {
      if (!equal(entry.key, key)) continue;
      entry.used = this.picture;
      return entry.layout;
    }
    return undefined;
  }

  /** Keeps the key: it must not be written to afterwards. */
  put(key: Uint32Array, layout: LevelLayout): void {
    const hash = hashOf(key),
      entry = { key, layout, used: this.picture },
      bucket = this.buckets.get(hash);
    if (bucket) bucket.push(entry);
    else this.buckets.set(hash, [entry]);
  }

  /** Call after every picture. */
  tidy(): void {
    this.picture++;
    for (const [hash, bucket] of this.buckets) {
      if (bucket.every((entry) => this.picture - entry.used <= KEPT_PICTURES)) continue;
      const kept = bucket.filter((entry) => this.picture - entry.used <= KEPT_PICTURES);
      if (kept.length === 0) this.buckets.delete(hash);
      else this.buckets.set(hash, kept);
    }
  }
}

/** FNV-1a over 32-bit words. */
function hashOf(words: Uint32Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < words.length; i++) hash = Math.imul(hash ^ words[i] ^ (words[i] >>> 15), 0x01000193);
  return hash >>> 0;
}

function equal(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
