/**
 * Side by side, what a pass removed and what it put in its place never show together, so they may share one place:
 * both panes stay compact, and the flow runs straight through either. In the overlay each has a place of its own.
 */
import { cyclic, topological } from "../graph/csr.ts";
import { type Visible } from "../graph/visible.ts";

export interface Slots {
  count: number;
  /** Place of each item. */
  of: Uint32Array;
}

export function ownSlots(visible: Visible): Slots {
  const of = new Uint32Array(visible.count);
  for (let i = 0; i < of.length; i++) of[i] = i;
  return { count: visible.count, of };
}

/** Items that only one side has, paired where they follow the same place in the same group. */
export function sharedSlots(visible: Visible): Slots {
  const mate = new Int32Array(visible.count).fill(-1);
  const first = firstInputs(visible);
  const waiting = new Map<string, number[]>();
  const rootOf = (i: number) => (mate[i] >= 0 ? Math.min(i, mate[i]) : i);
  for (const i of topological(visible.source, visible.target, visible.count, visible.weak)) {
    const side = visible.side[i];
    if (side === 3 || visible.node[i] < 0 || first[i] < 0) continue;
    const after = `${visible.parent[i]}|${rootOf(first[i])}|`;
    const list = waiting.get(after + (3 - side));
    const partner = list?.shift();
    if (partner !== undefined) {
      mate[i] = partner;
      mate[partner] = i;
    } else {
      const own = waiting.get(after + side);
      if (own) own.push(i);
      else waiting.set(after + side, [i]);
    }
  }
  return untangle(visible, mate);
}

function firstInputs(visible: Visible): Int32Array {
  const first = new Int32Array(visible.count).fill(-1);
  const port = new Uint16Array(visible.count).fill(0xffff);
  for (let e = 0; e < visible.edgeCount; e++) {
    const t = visible.target[e];
    if (visible.weak[e] || (first[t] >= 0 && visible.port[e] >= port[t])) continue;
    first[t] = visible.source[e];
    port[t] = visible.port[e];
  }
  return first;
}

/** Two that share a place must not wait for each other by way of the other side: such pairs part again. */
function untangle(visible: Visible, mate: Int32Array): Slots {
  for (let round = 0; round < 6; round++) {
    const slots = number(visible, mate);
    const keep = [...visible.source.keys()].filter((e) => !visible.weak[e]);
    const bad = cyclic(
      keep.map((e) => slots.of[visible.source[e]]),
      keep.map((e) => slots.of[visible.target[e]]),
      slots.count,
      () => true,
    );
    let parted = false;
    keep.forEach((e, i) => {
      if (!bad[i]) return;
      for (const item of [visible.source[e], visible.target[e]]) {
        if (mate[item] < 0) continue;
        mate[mate[item]] = -1;
        mate[item] = -1;
        parted = true;
      }
    });
    if (!parted) return slots;
  }
  return ownSlots(visible);
}

function number(visible: Visible, mate: Int32Array): Slots {
  const of = new Uint32Array(visible.count);
  let count = 0;
  for (let i = 0; i < visible.count; i++) of[i] = mate[i] >= 0 && mate[i] < i ? of[mate[i]] : count++;
  return { count, of };
}
