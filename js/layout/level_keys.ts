/**
 * A level's whole content as one run of 32-bit words, written into a buffer that all levels share: it is compared with
 * what is remembered before anything else is made of it, so a level that is known costs no more than this.
 */
import { BOX } from "./hierarchy";
import type { LevelGraph, LevelLayout, Spacing } from "./level";

const HEAD = 4;
/** Columns in their order: floats by item and by wire, then words by item and by wire. */
const ITEM_FLOATS = ["width", "height", "head", "foot", "give", "seedX", "seedY"] as const;
const WIRE_FLOATS = ["targetShift", "sourceShift"] as const;
const ITEM_WORDS = ["kind", "mainEntry"] as const;
const WIRE_WORDS = ["mainWire", "source", "target", "net", "targetPort", "sourcePort"] as const;
type Column = (typeof ITEM_FLOATS)[number] | (typeof WIRE_FLOATS)[number] | (typeof ITEM_WORDS)[number] | (typeof WIRE_WORDS)[number];

export class LevelWriter {
  words = new Uint32Array(1024);
  floats = new Float32Array(this.words.buffer);
  /** Where each column begins. */
  readonly at = {} as Record<Column, number>;
  private size = 0;

  /** A level whose columns are all 0. */
  begin(items: number, wires: number, spacing: Spacing): void {
    this.size = placeColumns(items, wires, this.at);
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

function placeColumns(items: number, wires: number, at: Record<Column, number>): number {
  let next = HEAD;
  for (const name of ITEM_FLOATS) { at[name] = next; next += items; }
  for (const name of WIRE_FLOATS) { at[name] = next; next += wires; }
  for (const name of ITEM_WORDS) { at[name] = next; next += items; }
  for (const name of WIRE_WORDS) { at[name] = next; next += wires; }
  return next;
}

/** The level that a key describes, in the key's own memory. */
export function levelOf(key: Uint32Array): LevelGraph {
  const items = key[0], wires = key[1], at = {} as Record<Column, number>;
  placeColumns(items, wires, at);
  const floats = new Float32Array(key.buffer, key.byteOffset, key.length);
  const byItem = (name: (typeof ITEM_FLOATS)[number]): Float32Array => floats.subarray(at[name], at[name] + items);
  const byWire = (name: (typeof WIRE_FLOATS)[number]): Float32Array => floats.subarray(at[name], at[name] + wires);
  const wordsByItem = (name: (typeof ITEM_WORDS)[number]): Uint32Array => key.subarray(at[name], at[name] + items);
  const wordsByWire = (name: (typeof WIRE_WORDS)[number]): Uint32Array => key.subarray(at[name], at[name] + wires);
  return {
    width: byItem("width"), height: byItem("height"), head: byItem("head"), foot: byItem("foot"), give: byItem("give"),
    seedX: byItem("seedX"), seedY: byItem("seedY"), targetShift: byWire("targetShift"), sourceShift: byWire("sourceShift"),
    kind: wordsByItem("kind"), mainEntry: wordsByItem("mainEntry"), mainWire: wordsByWire("mainWire"),
    source: wordsByWire("source"), target: wordsByWire("target"), net: wordsByWire("net"),
    targetPort: wordsByWire("targetPort"), sourcePort: wordsByWire("sourcePort"),
  };
}

/** The key of the same level, when everything is where a layout has put it: that is no question any more, whatever could give way. */
export function settledKey(key: Uint32Array, layout: LevelLayout): Uint32Array {
  const out = withoutGive(key), { kind, seedX, seedY } = levelOf(out);
  seedX.forEach((_, i) => { seedX[i] = kind[i] === BOX ? layout.x[i] : NaN; });
  seedY.forEach((_, i) => { seedY[i] = kind[i] === BOX ? layout.y[i] : NaN; });
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
