/** Beside the title of a graph: its kernels, large; what a widget adds; its nodes, small. */
import { type Signal } from "@preact/signals";
import { type ComponentChildren } from "preact";
import { type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { counted } from "../text/counted.ts";
import { BuildCount } from "./real_build.tsx";

interface SideFactsProps {
  side: 0 | 1;
  /** Not known while a trace is made. */
  kernels: number | null | undefined;
  /** Numbers of nodes, in words. */
  sizes: string;
  children?: ComponentChildren;
}

export function SideFacts({ side, kernels, sizes, children }: SideFactsProps) {
  const name = side === 0 ? "before" : "after";
  return (
    <>
      <span class="wb-kernels" data-testid={`kernels-${name}`}>
        {kernels ?? "–"}
      </span>
      <span>{kernels === 1 ? " kernel" : " kernels"}</span>
      {children}
      <span class="wb-dim" data-testid={`sizes-${name}`} title={sizes}>
        {sizes}
      </span>
    </>
  );
}

interface StateFactsProps {
  state: State;
  side: 0 | 1;
  /** Whether the reasons of the real build are open. */
  asked: Signal<boolean>;
  send: Send | undefined;
}

/** Of the Workbench: after the passes, its row's failure too, the build's kernels, and the peak of memory. */
export function StateFacts({ state, side, asked, send }: StateFactsProps) {
  const { counts = {}, peak } = state;
  const [kernels, nodes] =
    side === 0 ? [counts.before_kernels, counts.before_nodes] : [counts.after_kernels, counts.after_nodes];
  return (
    <SideFacts side={side} kernels={kernels} sizes={typeof nodes === "number" ? ` · ${counted(nodes, "node")}` : ""}>
      {side === 1 && (
        <>
          <FailedRow state={state} /> <BuildCount state={state} open={asked} send={send} />
          {peak && <span data-testid="peak"> · {peak}</span>}
        </>
      )}
    </SideFacts>
  );
}

/** The word for the present configuration's row, if it failed; the sentence is its tooltip. */
function FailedRow({ state }: { state: State }) {
  const said = state.rows?.find((row) => row.current)?.said;
  if (!said) return null;
  return (
    <span class="wb-mark-removed wb-strong" data-testid="row-status" title={said}>
      {` ! ${said.split(":", 1)[0]}`}
    </span>
  );
}
