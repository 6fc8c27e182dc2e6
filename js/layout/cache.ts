/**
 * Level layouts by content. The key is everything the layout depends on, compared in full: a hash only finds the
 * candidate. Entries that the last pictures did not use are dropped, so that the cache is about as large as a picture.
 */
import { type LevelLayout } from "./level.ts";

interface Entry {
  key: Uint32Array;
  layout: LevelLayout;
  used: number;
}

const KEPT_PICTURES = 8;

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
