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
    const layout = make();
    bucket.push({ key, layout, used: this.picture });
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

function contentKey(graph: LevelGraph, spacing: Spacing): Uint32Array {
  const columns = [
    Float32Array.of(graph.kind.length, graph.source.length, spacing.nodeGap, spacing.layerGap),
    graph.width, graph.height, graph.source, graph.target, graph.net, graph.targetShift, graph.sourceShift, graph.seedX, graph.seedY,
    Uint32Array.from(graph.kind), Uint32Array.from(graph.targetPort), Uint32Array.from(graph.sourcePort),
  ];
  const key = new Uint32Array(columns.reduce((sum, column) => sum + column.length, 0));
  let at = 0;
  for (const column of columns) {
    key.set(new Uint32Array(column.buffer, column.byteOffset, column.length), at);
    at += column.length;
  }
  return key;
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
