/** The workbench's state as Python sends it; every field is optional here, since a page must survive an older kernel. */

import { type FieldSpec } from "./option_form.ts";

export interface PassState {
  name: string;
  text?: string;
  enabled?: boolean;
  locked?: boolean;
  reason?: string;
  doc?: string;
  status?: "changed" | "same" | "error" | "skipped" | "off" | "wrong";
  message?: string;
  seconds?: number | null;
  nodes?: number | null;
  kernels?: number | null;
  added?: number;
  merged?: number;
  split?: number;
  removed?: number;
  changed?: number;
  opt_level?: number;
  /** As they are typed into a form. */
  options?: Record<string, string>;
}

/** What there is to choose from; it stays as it is. */
export interface Catalog {
  passes?: { name: string; doc: string; opt_level: number | null; locked: string; reason: string; ours: boolean; options: FieldSpec[] }[];
  settings?: FieldSpec[];
}

export interface RowState {
  id?: string | number;
  config?: string;
  kernels?: number | null;
  functions?: number | null;
  median_us?: number | null;
  q1_us?: number | null;
  q3_us?: number | null;
  samples?: number | number[] | null;
  target?: string;
  /** As `measure/status.py` has them, and under way. */
  status?: "ok" | "wrong" | "failed" | "crashed" | "timeout" | "out of memory" | "cancelled" | "not measured" | "running" | "pending";
  message?: string;
  /** The sentence of a row that failed, as every table and plot has it. */
  said?: string;
  current?: boolean;
}

export interface State {
  title?: string;
  /** What was repaired or assumed when the program was loaded. */
  notes?: string[];
  dialect?: string;
  /** The functions of the module that can be run, and the one that is shown. */
  entries?: string[];
  entry?: string;
  tvm?: string;
  target?: string;
  mode?: "pipeline" | "context";
  passes?: PassState[];
  context?: { opt_level?: number; disabled?: string[]; required?: string[]; options?: Record<string, string>; toggles?: PassState[] };
  presets?: { name: string; doc?: string; own?: boolean }[];
  presets_note?: string;
  /** What was typed into a field and not taken, and why. */
  refused?: { form: string; field: string; text: string } | null;
  /** The pass whose effect is shown without its being chosen. */
  preview?: string | null;
  step?: number;
  counts?: Partial<Record<"before_kernels" | "after_kernels" | "before_nodes" | "after_nodes", number | null>>;
  busy?: { what?: string; fraction?: number | null; since?: number } | null;
  error?: { title?: string; text?: string } | null;
  rows?: RowState[];
  /** What may be said of the rows; the configuration that the present one can be raced against, and whether it was. */
  headline?: { text?: string; rival?: string; raced?: boolean };
  /** The compiler's own build at this opt level; `why` are sentences, once they were asked for. */
  build?: { kernels?: number; failed?: string; opt_level?: number; why?: string[]; listing?: boolean };
  code?: string;
  pipeline_text?: string;
}

export type Send = (message: Record<string, unknown>) => void;
