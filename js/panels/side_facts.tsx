/** Beside the title of a graph: its kernels, large; what a widget adds, as those of the compiler's own build; its nodes, small. */
import { type ComponentChildren } from "preact";
import { type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { counted } from "../text/counted.ts";

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
  /** None in a saved page: no Python lists the passes. */
  send: Send | undefined;
}

/** Of the Workbench: after the passes, its row's failure too, the build's kernels, and the peak of memory. */
export function StateFacts({ state, side, send }: StateFactsProps) {
  const { counts = {}, peak } = state;
  const [kernels, nodes] =
    side === 0 ? [counts.before_kernels, counts.before_nodes] : [counts.after_kernels, counts.after_nodes];
  return (
    <SideFacts side={side} kernels={kernels} sizes={typeof nodes === "number" ? ` · ${counted(nodes, "node")}` : ""}>
      {side === 1 && (
        <>
          <FailedRow state={state} /> <BuildCount state={state} send={send} />
          {peak && <span data-testid="peak"> · {peak}</span>}
        </>
      )}
    </SideFacts>
  );
}

/** The word for the present configuration's row, if it failed; the sentence is its tooltip. */
function FailedRow({ state: { failed_row: row } }: { state: State }) {
  if (!row) return null;
  return (
    <span class="wb-mark-removed wb-strong" data-testid="row-status" title={`${row.status}: ${row.message}`}>
      {` ! ${row.status}`}
    </span>
  );
}

/** After the number by the graph: the kernels of the compiler's own build, where they differ from the picture's. */
function BuildCount({ state, send }: { state: State; send: Send | undefined }) {
  const { kernels, failed, opt_level: level } = state.build ?? {};
  if (!buildDiffers(state)) return <span class="wb-real-build" data-testid="real-build" hidden />;
  const title = `The compiler's own pipeline at opt level ${level ?? ""}, with its parameters, for this target`;
  return (
    <span class="wb-real-build" data-testid="real-build" title={failed || title}>
      <span class="wb-strong">{failed ? "· the build fails" : `· build: ${kernels?.toLocaleString("en") ?? ""}`}</span>{" "}
      <button
        type="button"
        class="wb-link"
        title="The passes that the build runs beyond these"
        aria-label="The passes that the build runs beyond these"
        aria-expanded={explained(state)}
        data-testid="build-ask"
        hidden={!send}
        onClick={() => send?.({ type: "build" })}
      >
        why?
      </button>
    </span>
  );
}

/** Above the graph: the reasons, until the list is closed. */
export function BuildReasons({ state }: { state: State }) {
  const { failed, why = [] } = state.build ?? {};
  const reasons = failed ? [failed] : why;
  return (
    <div class="wb-notes wb-why" data-testid="build-why" hidden={!buildDiffers(state) || !explained(state)}>
      {reasons.length > 0 ? (
        <ul class="wb-found">
          {reasons.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      ) : (
        <p class="wb-dim">The build's passes are being listed …</p>
      )}
    </div>
  );
}

function explained({ build: { listing, why } = {} }: State): boolean {
  return listing === true || why !== undefined;
}

/** Whether the whole pipeline is shown, and the compiler's build makes other kernels of it, or fails. */
function buildDiffers({ build = {}, counts, context, step = -1, preview, mode = "pipeline" }: State): boolean {
  const whole = step === -1 && !preview && mode === "pipeline";
  const known = typeof build.kernels === "number" || Boolean(build.failed);
  const here = build.opt_level === (context?.opt_level ?? build.opt_level);
  return whole && known && here && build.kernels !== counts?.after_kernels;
}
