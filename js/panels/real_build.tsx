/** The kernels of the compiler's own build, where they differ from the picture's, and the passes that explain it. */
import { type Signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";

interface BuildCountProps {
  state: State;
  /** Whether the list above the graph is open. */
  open: Signal<boolean>;
  /** None in a saved page: no Python lists the passes. */
  send: Send | undefined;
}

/** After the number by the graph. */
export function BuildCount({ state, open, send }: BuildCountProps) {
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
