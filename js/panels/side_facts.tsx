/** Beside the title of a graph: its kernels, large; the build's where they differ; its nodes, small. */
import { type Signal } from "@preact/signals";
import { type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { counted } from "../text/counted.ts";
import { BuildCount } from "./real_build.tsx";

interface SideFactsProps {
  state: State;
  side: "before" | "after";
  /** Whether the reasons of the real build are open. */
  asked: Signal<boolean>;
  send: Send | undefined;
}

export function SideFacts({ state, side, asked, send }: SideFactsProps) {
  const kernels = state.counts?.[`${side}_kernels`];
  const nodes = state.counts?.[`${side}_nodes`];
  return (
    <>
      <span class="wb-kernels" data-testid={`kernels-${side}`}>
        {kernels ?? "–"}
      </span>
      <span>{kernels === 1 ? " kernel" : " kernels"}</span>
      {side === "after" && (
        <>
          <Failed state={state} /> <BuildCount state={state} open={asked} send={send} />
        </>
      )}
      {side === "after" && state.peak && <span data-testid="peak"> · {state.peak}</span>}
      {typeof nodes === "number" && <span class="wb-dim"> · {counted(nodes, "node")}</span>}
    </>
  );
}

/** The word for the present configuration's row, if it failed; the sentence is its tooltip. */
function Failed({ state }: { state: State }) {
  const said = state.rows?.find((row) => row.current)?.said;
  if (!said) return null;
  return (
    <span class="wb-mark-removed wb-strong" data-testid="row-status" title={said}>
      {` ! ${said.split(":", 1)[0]}`}
    </span>
  );
}
