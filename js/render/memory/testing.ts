/** Plans for tests. */
import { type PlanPayload } from "../../model/messages.ts";
import { PAPER } from "../paper.ts";
import { Ruler } from "../text.ts";
import { clampWindow, type MemoryFrame, scaleOf } from "./chart.ts";
import { decodePlan, type Plan } from "./plan.ts";

/** Doubles as Python sends them. */
export const doubles = (values: readonly number[]) => new Float64Array(values);
const each = <T>(count: number, of: (i: number) => T) => Array.from({ length: count }, (_, i) => of(i));

/** A chain of kernels, of which each reads the tensor before; two storages take turns. Node `i` is that of kernel `i`. */
export function chain(steps: number, name = "t"): PlanPayload {
  const ends = each(steps, (i) => i + 1);
  return {
    title: "",
    strings: ["", "storage", "float32", ...each(steps, (i) => `${name}${i}`), ...each(steps, (i) => `kernel_${i}`)],
    tensor: {
      name_s: each(steps, (i) => 3 + i),
      type_s: each(steps, () => 2),
      role: each(steps, (i) => (i === steps - 1 ? 1 : 2)),
      bytes: doubles(each(steps, (i) => 1000 * (i + 1))),
      born: each(steps, (i) => i),
      dies: each(steps, (i) => Math.min(i + 1, steps - 1)),
      row: each(steps, (i) => i % 2),
      producer: each(steps, (i) => i),
      reader_end: each(steps, (i) => Math.min(i + 1, steps - 1)),
      readers: each(steps - 1, (i) => i + 1),
      node_end: ends,
      nodes: each(steps, (i) => i),
    },
    step: {
      name_s: each(steps, (i) => 3 + steps + i),
      live: doubles(each(steps, (i) => 1000 * (i + 1) + 1000 * i)),
      held: doubles(each(steps, () => 2000 * steps)),
      workspace: doubles(each(steps, (i) => (i === 0 ? 64 : -1))),
      node_end: ends,
      nodes: each(steps, (i) => i),
    },
    row: { bytes: doubles([1000 * steps, 1000 * steps]), label_s: [1, 1] },
  };
}

export function frameOf(plans: readonly Plan[], which = 0, view = { width: 800, height: 400 }): MemoryFrame {
  const scale = scaleOf(plans, view);
  return {
    plan: plans[which]!,
    scale,
    which,
    window: clampWindow({ start: scale.first, end: scale.last, top: 0 }, scale, view),
    view,
    theme: PAPER,
    ruler: new Ruler(() => 0.5),
    selected: new Set(),
    cursor: null,
    hovered: null,
  };
}

export const chainFrame = (steps: number, name?: string) => frameOf([decodePlan(chain(steps, name))]);
