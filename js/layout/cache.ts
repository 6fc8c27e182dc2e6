/**
 * Level layouts by content. The key is everything the layout depends on, compared in full: a hash only finds the
 * candidate. Entries that the last pictures did not use are dropped, so that the cache is about as large as a picture.
 */
import type { LevelGraph, LevelLayout, Spacing } from "./level";

interface Entry {
  key: Uint32Array;
  layout: LevelLayout;
  used: number;
}

const KEPT_PICTURES = 8;

export class LevelCache {
  private readonly buckets = new Map<number, Entry[]>();
  private picture = 0;

  get(graph: LevelGraph, spacing: Spacing, make: () => LevelLayout): LevelLayout {
    const key = contentKey(graph, spacing);
    const hash = hashOf(key);
    const bucket = this.buckets.get(hash) ?? [];
    const found = bucket.find((entry) => equal(entry.key, key));
    if (found) { found.used = this.picture; return found.layout; }
    const kept = key.slice();
    const layout = make();
    bucket.push({ key: kept, layout, used: this.picture });
    this.buckets.set(hash, bucket);
    return layout;
  }

  /** Call after every picture. */
  tidy(): void {
    this.picture++;
    for (const [hash, bucket] of this.buckets) {
      const kept = bucket.filter((entry) => this.picture - entry.used <= KEPT_PICTURES);
      if (kept.length === 0) this.buckets.delete(hash);
      else if (kept.length < bucket.length) this.buckets.set(hash, kept);
    }
  }
}

/** One buffer for all keys: only those of new levels are copied out of it. */
let words = new Uint32Array(1024), floats = new Float32Array(words.buffer);

/** Valid until the next call. */
function contentKey(graph: LevelGraph, spacing: Spacing): Uint32Array {
  const n = graph.kind.length, m = graph.source.length, size = 4 + 9 * n + 8 * m;
  if (words.length < size) {
    words = new Uint32Array(2 * size);
    floats = new Float32Array(words.buffer);
  }
  words[0] = n;
  words[1] = m;
  floats[2] = spacing.nodeGap;
  floats[3] = spacing.layerGap;
  let at = 4;
  for (const column of [graph.width, graph.height, graph.head, graph.foot, graph.give, graph.seedX, graph.seedY, graph.targetShift, graph.sourceShift]) {
    floats.set(column, at);
    at += column.length;
  }
  for (const column of [graph.kind, graph.mainEntry, graph.mainWire, graph.source, graph.target, graph.net, graph.targetPort, graph.sourcePort]) {
    words.set(column, at);
    at += column.length;
  }
  return words.subarray(0, size);
}

/** FNV-1a over 32-bit words. */
function hashOf(words: Uint32Array): number {
  let hash = 0x811c9dc5;
  for (const word of words) hash = Math.imul(hash ^ word ^ (word >>> 15), 0x01000193);
  return hash >>> 0;
}

function equal(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
