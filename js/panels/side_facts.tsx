/** Beside the title of a graph: its kernels, large; what a widget adds, as those of the compiler's own build; its nodes, small. */
import { type Signal } from "@preact/signals";
import { type ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
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

interface BuildCountProps {
  state: State;
  /** Whether the list above the graph is open. */
  open: Signal<boolean>;
  /** None in a saved page: no Python lists the passes. */
  send: Send | undefined;
}

/** After the number by the graph: the kernels of the compiler's own build, where they differ from the picture's. */
function BuildCount({ state, open, send }: BuildCountProps) {
  const { kernels, failed, opt_level: level, listing } = state.build ?? {};
  const differs = buildDiffers(state);
  const why = reasons(state);
  const key = why.join("\n");
  useLayoutEffect(() => {
    // Another pipeline has another list, and a list that was cancelled does not come.
    if (!differs || (!key && !listing)) open.value = false;
  }, [differs, key, listing, open]);
  if (!differs) return <span class="wb-real-build" data-testid="real-build" hidden />;
  const title = `The compiler's own pipeline at opt level ${level ?? ""}, with its parameters, for this target`;
  return (
    <span class="wb-real-build" data-testid="real-build" title={failed || title}>
      <span class="wb-strong">{failed ? "· the build fails" : `· build: ${kernels?.toLocaleString("en") ?? ""}`}</span>{" "}
      <button
        type="button"
        class="wb-link"
        title="The passes that the build runs beyond these"
        aria-label="The passes that the build runs beyond these"
        aria-expanded={open.value}
        data-testid="build-ask"
        hidden={!send}
        onClick={() => {
          open.value = !open.value;
          if (open.value && why.length === 0) send?.({ type: "build" });
        }}
      >
        why?
      </button>
    </span>
  );
}

/** Above the graph: the reasons, until the list is closed. */
export function BuildReasons({ state, open }: { state: State; open: Signal<boolean> }) {
  const why = reasons(state);
  return (
    <div class="wb-notes wb-why" data-testid="build-why" hidden={!open.value}>
      {why.length > 0 ? (
        <ul class="wb-found">
          {why.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      ) : (
        <p class="wb-dim">The build's passes are being listed …</p>
      )}
    </div>
  );
}

function reasons({ build: { failed, why = [] } = {} }: State): readonly string[] {
  return failed ? [failed] : why;
}

/** Whether the whole pipeline is shown, and the compiler's build makes other kernels of it, or fails. */
function buildDiffers({ build = {}, counts, context, step = -1, preview, mode = "pipeline" }: State): boolean {
  const whole = step === -1 && !preview && mode === "pipeline";
  const known = typeof build.kernels === "number" || Boolean(build.failed);
  const here = build.opt_level === (context?.opt_level ?? build.opt_level);
  return whole && known && here && build.kernels !== counts?.after_kernels;
}
