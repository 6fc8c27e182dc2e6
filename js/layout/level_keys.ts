/**
 * A level's whole content as one run of 32-bit words, written into a buffer that all levels share: it is compared with
 * what is remembered before anything else is made of it, so a level that is known costs no more than this.
 */
import { BOX } from "./hierarchy.ts";
import { type LevelGraph, type LevelLayout, type Spacing } from "./level.ts";

const HEAD = 4;

/** Where each column begins: floats by item and by wire, then words by item and by wire. */
class Columns {
  width = 0;
  height = 0;
  head = 0;
  foot = 0;
  give = 0;
  seedX = 0;
  seedY = 0;
  targetShift = 0;
  sourceShift = 0;
  kind = 0;
  mainEntry = 0;
  mainWire = 0;
  source = 0;
  target = 0;
  net = 0;
  targetPort = 0;
  sourcePort = 0;

  /** The size of the whole. */
  place(items: number, wires: number): number {
    let next = HEAD;
    const take = (count: number): number => {
      next += count;
      return next - count;
    };
    const byItem = (): number => take(items),
      byWire = (): number => take(wires);
    this.width = byItem();
    this.height = byItem();
    this.head = byItem();
    this.foot = byItem();
    this.give = byItem();
    this.seedX = byItem();
    this.seedY = byItem();
    this.targetShift = byWire();
    this.sourceShift = byWire();
    this.kind = byItem();
    this.mainEntry = byItem();
    this.mainWire = byWire();
    this.source = byWire();
    this.target = byWire();
    this.net = byWire();
    this.targetPort = byWire();
    this.sourcePort = byWire();
    return next;
  }
}

export class LevelWriter {
  words = new Uint32Array(1024);
  floats = new Float32Array(this.words.buffer);
  readonly at = new Columns();
  private size = 0;

  /** A level whose columns are all 0. */
  begin(items: number, wires: number, spacing: Spacing): void {
    this.size = this.at.place(items, wires);
    if (this.words.length < this.size) {
      this.words = new Uint32Array(2 * this.size);
      this.floats = new Float32Array(this.words.buffer);
    }
    this.words.fill(0, 0, this.size);
    this.words[0] = items;
    this.words[1] = wires;
    this.floats[2] = spacing.nodeGap;
    this.floats[3] = spacing.layerGap;
  }

  /** What was written; valid until the next level begins. */
  key(): Uint32Array {
    return this.words.subarray(0, this.size);
  }
}

/** The level that a key describes, in the key's own memory. */
export function levelOf(key: Uint32Array): LevelGraph {
  const items = key[0],
    wires = key[1],
    at = new Columns();
  at.place(items, wires);
  const floats = new Float32Array(key.buffer, key.byteOffset, key.length);
  const byItem = (from: number): Float32Array => floats.subarray(from, from + items);
  const byWire = (from: number): Float32Array => floats.subarray(from, from + wires);
  const wordsByWire = (from: number): Uint32Array => key.subarray(from, from + wires);
  return {
    width: byItem(at.width),
    height: byItem(at.height),
    head: byItem(at.head),
    foot: byItem(at.foot),
    give: byItem(at.give),
    seedX: byItem(at.seedX),
    seedY: byItem(at.seedY),
    targetShift: byWire(at.targetShift),
    sourceShift: byWire(at.sourceShift),
    kind: key.subarray(at.kind, at.kind + items),
    mainEntry: key.subarray(at.mainEntry, at.mainEntry + items),
    mainWire: wordsByWire(at.mainWire),
    source: wordsByWire(at.source),
    target: wordsByWire(at.target),
    net: wordsByWire(at.net),
    targetPort: wordsByWire(at.targetPort),
    sourcePort: wordsByWire(at.sourcePort),
  };
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

interface Entry {
  key: Uint32Array;
  layout: LevelLayout;
  used: number;
}

const KEPT_PICTURES = 8;

/**
 * Level layouts by content. The key is everything the layout depends on, compared in full: a hash only finds the
 * candidate. Entries that the last pictures did not use are dropped, so that the cache is about as large as a picture.
 */
export class LevelCache {
  private readonly buckets = new Map<number, Entry[]>();
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
