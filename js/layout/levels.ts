/**
 * One level as a flat graph, in one run of 32-bit words that all levels share: its key. It is compared with what is
 * remembered before anything else is made of it, so a level that is known costs no more than this.
 */
import { append } from "../graph/csr.ts";
import { BOX, ENTRY, type Hierarchy } from "./hierarchy.ts";
import { type LevelGraph, type LevelLayout, type Placed, type Spacing } from "./level.ts";
import { type Seeds } from "./seeds.ts";
import { type LayoutInput } from "./types.ts";

const HEAD = 5;

/** The columns in their order: floats by item and by wire, then words by item and by wire. */
export const FLOATS_BY_ITEM = ["width", "height", "head", "foot", "give", "seedX", "seedY"] as const;
const FLOATS_BY_WIRE = ["targetShift", "sourceShift"] as const;
export const WORDS_BY_ITEM = ["kind", "mainEntry"] as const;
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

const CLEARLY_DEEPER = 1.25;

/**
 * Takes levels out of the hierarchy: finished groups become boxes with fixed ports. One reader serves one picture; its scratch
 * memory is shared by the levels.
 */
export class LevelReader {
  /** Number of each item in its level: filled in by `read`, and needed while the picture is put together. */
  readonly local: Uint32Array;
  /** The key that is being written, and where its columns are. */
  private words = new Uint32Array(1024);
  private floats = new Float32Array(this.words.buffer);
  private at = placesOf(0, 0);
  private readonly known = new Map<number, Places>();
  /** Nets are renumbered in order of appearance, so that levels with equal contents are equal; `stamp` says for which level. */
  private readonly netNumber: Uint32Array;
  private readonly netStamp: Uint32Array;
  private stamp = 0;
  private best = new Int32Array(64);
  private second = new Float64Array(64);

  constructor(
    private readonly input: LayoutInput,
    private readonly h: Hierarchy,
    private readonly placed: Placed[],
  ) {
    this.local = new Uint32Array(h.nodeCount + h.groupCount + h.stubGroup.length);
    const nets = h.nodeCount + input.edges.source.length;
    this.netNumber = new Uint32Array(nets);
    this.netStamp = new Uint32Array(nets);
  }

  /** The level's key; valid until the next one is read. */
  read(items: Uint32Array, wireIds: Uint32Array, seeds: Seeds | null, spacing: Spacing): Uint32Array {
    this.begin(items.length, wireIds.length, spacing);
    this.words[4] = hasteOf(this.h.nodeCount);
    this.writeItems(items, seeds);
    this.writeWires(wireIds);
    this.markMain(items, wireIds);
    return this.words.subarray(0, this.at.size);
  }

  /** A level whose columns are all 0. */
  private begin(items: number, wires: number, spacing: Spacing): void {
    const size = items * 2 ** 26 + wires;
    this.at = this.known.get(size) ?? placesOf(items, wires);
    this.known.set(size, this.at);
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

  private writeItems(items: Uint32Array, seeds: Seeds | null): void {
    const { input, placed, local, words, floats, at } = this,
      { nodeCount, groupCount, stubKind } = this.h;
    const firstStub = nodeCount + groupCount;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      local[item] = i;
      floats[at.seedX + i] = seeds && item < firstStub ? seeds.x[item] : NaN;
      floats[at.seedY + i] = seeds && item < firstStub ? seeds.y[item] : NaN;
      if (item < nodeCount) {
        floats[at.width + i] = input.nodes.width[item];
        floats[at.height + i] = input.nodes.height[item];
      } else if (item < firstStub) {
        const box = placed[item - nodeCount];
        floats[at.width + i] = box.width;
        floats[at.height + i] = box.height;
        floats[at.head + i] = box.insetY;
        floats[at.foot + i] = box.foot;
        if (seeds?.mayGive) floats[at.give + i] = box.layout.give;
      } else words[at.kind + i] = stubKind[item - firstStub];
    }
    relate(floats, at.seedX, items.length);
    relate(floats, at.seedY, items.length);
  }

  private writeWires(wireIds: Uint32Array): void {
    const { local, netNumber, netStamp, words, floats, at } = this,
      { nodeCount, wires } = this.h;
    this.stamp++;
    for (let k = 0, nets = 0; k < wireIds.length; k++) {
      const w = wireIds[k],
        s = wires.source[w],
        t = wires.target[w],
        net = wires.net[w];
      if (netStamp[net] !== this.stamp) {
        netStamp[net] = this.stamp;
        netNumber[net] = nets++;
      }
      words[at.net + k] = netNumber[net];
      words[at.source + k] = local[s];
      words[at.target + k] = local[t];
      words[at.targetPort + k] = wires.port[w];
      words[at.sourcePort + k] = s < nodeCount && net >= nodeCount ? 1 : 0;
      floats[at.sourceShift + k] = wires.sourceStub[w] < 0 ? NaN : this.shift(s, wires.sourceStub[w]);
      floats[at.targetShift + k] = wires.targetStub[w] < 0 ? NaN : this.shift(t, wires.targetStub[w]);
    }
  }

  /** Where a stub comes through its group's border: x from the group's centre. */
  private shift(group: number, stub: number): number {
    const { nodeCount, groupCount } = this.h,
      inside = this.placed[group - nodeCount];
    return inside.insetX + inside.layout.x[this.local[nodeCount + groupCount + stub]] - inside.width / 2;
  }

  /** A wire or an entry is the main one if what it brings is clearly deeper in the whole graph than all it arrives with. */
  private markMain(items: Uint32Array, wireIds: Uint32Array): void {
    const { words, at, h } = this;
    if (this.best.length < items.length) {
      this.best = new Int32Array(2 * items.length);
      this.second = new Float64Array(2 * items.length);
    }
    const best = this.best.fill(-1, 0, items.length),
      second = this.second.fill(0, 0, items.length);
    const depth = (k: number): number => h.depthOfNet(h.wires.net[wireIds[k]]);
    for (let k = 0; k < wireIds.length; k++) {
      const t = words[at.target + k];
      if (best[t] < 0) best[t] = k;
      else if (depth(k) > depth(best[t])) {
        second[t] = depth(best[t]);
        best[t] = k;
      } else second[t] = Math.max(second[t], depth(k));
    }
    for (let i = 0; i < items.length; i++)
      if (best[i] >= 0 && clearly(depth(best[i]), second[i])) words[at.mainWire + best[i]] = 1;
    const entry = (i: number): number => h.depthOfNet(h.stubNet[items[i] - h.nodeCount - h.groupCount]);
    let first = -1,
      next = 0;
    for (let i = 0; i < items.length; i++) {
      if (words[at.kind + i] !== ENTRY) continue;
      if (first < 0) first = i;
      else if (entry(i) > entry(first)) {
        next = entry(first);
        first = i;
      } else next = Math.max(next, entry(i));
    }
    if (first >= 0 && clearly(entry(first), next)) words[at.mainEntry + first] = 1;
  }
}

/** Nodes of a picture whose levels are all searched at leisure. */
const AT_LEISURE = 4_000;

/** How often the work that a level may take is halved, so that a large picture of levels that all differ takes no longer. */
function hasteOf(nodes: number): number {
  return Math.max(0, Math.ceil(Math.log2(nodes / AT_LEISURE)));
}

function clearly(depth: number, second: number): boolean {
  return depth > CLEARLY_DEEPER * second + 2;
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
  return { ...Object.fromEntries(columns), haste: key[4] } as LevelGraph;
}

/** The key of the same level, when everything is where a layout has put it: the key no longer depends on what could move. */
export function settledKey(key: Uint32Array, layout: LevelLayout): Uint32Array {
  const out = withoutGive(key),
    { kind, seedX, seedY } = levelOf(out);
  for (let i = 0; i < kind.length; i++) {
    seedX[i] = kind[i] === BOX ? layout.x[i] : NaN;
    seedY[i] = kind[i] === BOX ? layout.y[i] : NaN;
  }
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
function relate(floats: Float32Array, from: number, count: number): void {
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
    append(this.buckets, hashOf(key), { key, layout, used: this.picture });
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
