/** A memory plan as Python sends it: columns of tensors, of kernels (steps) and of storages (rows). */

import { column } from "../../graph/payload.ts";
import { type Bytes, type PlanPayload } from "../../model/messages.ts";
import { formatBytes } from "../../text/counted.ts";

/** The column `role` holds indices of these. */
export const ROLES = ["input", "output", "intermediate", "workspace"];

type Column = ArrayLike<number>;
type Columns<Part extends keyof PlanPayload> = Record<keyof NonNullable<PlanPayload[Part]>, Column>;

export interface Plan {
  title: string;
  strings: readonly string[];
  /** Times are steps; -1 is before the first one, and no producer. */
  tensor: Columns<"tensor">;
  /** The bytes of live tensors, and of held storages; the workspace is -1 where it is not known. */
  step: Columns<"step">;
  row: Columns<"row">;
  steps: number;
  /** The tensors of each row, by birth. */
  inRow: number[][];
  /** The step with the most live bytes; -1 for none. */
  peakStep: number;
}

const SIZES = /^(bytes|live|held|workspace)$/;
const SIGNED = /^(born|dies|producer)$/;
const LISTS = /^(readers|nodes)$/;
const UNFIT = "The plan's columns do not fit together: the Python side and this page disagree.";

/** Decode a plan; throws with one sentence where the columns do not fit together. */
export function decodePlan({ title = "", strings = [], ...payload }: PlanPayload): Plan {
  const tensor = decodePart(payload.tensor) as Columns<"tensor">;
  const step = decodePart(payload.step) as Columns<"step">;
  const row = decodePart(payload.row) as Columns<"row">;
  const inRow = Array.from(row.bytes ?? [], (): number[] => []);
  const live = Array.from(step.live ?? []);
  const byBirth = [...Array(tensor.born?.length ?? 0).keys()].sort((a, b) => tensor.born[a] - tensor.born[b] || a - b);
  for (const t of byBirth) {
    if (!inRow[tensor.row[t]]) throw new Error(UNFIT);
    inRow[tensor.row[t]].push(t);
  }
  const peakStep = live.indexOf(live.reduce((a, b) => Math.max(a, b), 0));
  return { title, strings, tensor, step, row, steps: live.length, inRow, peakStep };
}

function decodePart(columns: object = {}): Record<string, Column> {
  const entries = Object.entries(columns as Record<string, Bytes>).map(([name, bytes]): [string, Column] => [
    name,
    SIZES.test(name)
      ? column(Float64Array, bytes)
      : SIGNED.test(name)
        ? column(Int32Array, bytes)
        : column(Uint32Array, bytes),
  ]);
  const lengths = new Set(entries.filter(([name]) => !LISTS.test(name)).map(([, { length }]) => length));
  if (lengths.size > 1) throw new Error(UNFIT);
  return Object.fromEntries(entries);
}

/** The part of a list that belongs to item `i`: it ends at `end[i]`. */
function listed(end: Column, items: Column, i: number): number[] {
  return Array.prototype.slice.call(items, i > 0 ? end[i - 1] : 0, end[i]);
}

/** A block is a tensor in its row; row -1 is the curve, whose items are steps. */
export interface Place {
  row: number;
  item: number;
}

/** The nodes of a step, or of a tensor; those of its kernel where it has none of its own. */
export function nodesAt({ tensor, step }: Plan, { row, item }: Place): number[] {
  const own = row < 0 ? [] : listed(tensor.node_end, tensor.nodes, item);
  const kernel = row < 0 ? item : tensor.producer[item];
  return own.length > 0 || kernel < 0 ? own : listed(step.node_end, step.nodes, kernel);
}

/** The words of a block or a step: name and size first. */
export function describePlace({ strings, tensor, step, row: rows, peakStep }: Plan, { row, item }: Place): string[] {
  const kernel = (i: number) => `${i}: ${strings[step.name_s[i]]}`;
  if (row < 0) {
    const [peak, workspace] = [item === peakStep ? " (the peak)" : "", step.workspace[item]];
    return [
      `kernel ${kernel(item)}`,
      `${formatBytes(step.live[item])} live${peak}, ${formatBytes(step.held[item])} held`,
      workspace < 0 ? "" : `workspace ${formatBytes(workspace)}`,
    ].filter(Boolean);
  }
  const [producer, readers] = [tensor.producer[item], listed(tensor.reader_end, tensor.readers, item)];
  const more = readers.length > 4 ? ` and ${readers.length - 4} more` : "";
  return [
    strings[tensor.name_s[item]] || "(no name)",
    `${ROLES[tensor.role[item]]}, ${formatBytes(tensor.bytes[item])}, ${strings[tensor.type_s[item]]}`,
    producer < 0 ? "" : `written by kernel ${kernel(producer)}`,
    readers.length > 0 ? `read by kernel ${readers.slice(0, 4).map(kernel).join(", ")}${more}` : "",
    strings[rows.label_s[row]],
  ].filter(Boolean);
}
