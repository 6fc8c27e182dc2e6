/** A pass of the list in words and signs: its tooltip, its effect on the graph, the reason why it is needed, its check. */

import { Button } from "../components/button.tsx";
import { Icon, MarkSign } from "../components/icon.tsx";
import { type CheckState, MARKS, type MarkCounts, type PassState } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { counted, formatTime } from "../text/counted.ts";

/** A pass that lowering needs, with the reason. */
export function Lock({ reason }: { reason: string }) {
  return (
    <span class="wb-lock" role="img" title={`Needed: ${reason}`} aria-label={`Needed: ${reason}`}>
      <Icon name="lock" />
    </span>
  );
}

/** The first sentence of a description. */
export function firstSentence(doc: string): string {
  const end = doc.search(/[.:](\s|$)/);
  return end < 0 ? doc : doc.slice(0, end);
}

export function passTitle(pass: PassState, status: string): string {
  const time = typeof pass.seconds === "number" ? formatTime(pass.seconds * 1e6) : "";
  const size = typeof pass.nodes === "number" ? `${counted(pass.nodes, "node")} after` : "";
  const lines = [
    pass.text && pass.text !== pass.name ? pass.text : "",
    pass.doc,
    statusWords(pass, status),
    [time, size].filter(Boolean).join(", "),
    pass.locked ? pass.reason : "",
  ];
  return lines.filter(Boolean).join("\n");
}

function statusWords({ message }: PassState, status: string): string {
  switch (status) {
    case "off":
      return "switched off";
    case "same":
      return "changed nothing";
    case "error":
      return message || "failed";
    case "skipped":
      return message || "not reached";
    default:
      return "";
  }
}

/** The numbers of nodes that the pass changed, or that it failed. */
export function Effect({ pass, status }: { pass: PassState; status: string }) {
  if (status === "error")
    return (
      <span class="wb-mark-removed wb-strong" title={pass.message ?? ""}>
        ! failed
      </span>
    );
  return status === "changed" ? <Changes counts={pass} /> : null;
}

const SHOWN = ["added", "removed", "changed", "merged", "split"] as const;

/** The numbers of nodes with each mark; a word where the ops are the same. */
export function Changes({ counts }: { counts: MarkCounts }) {
  const marks = SHOWN.filter((mark) => counts[mark]);
  if (marks.length === 0)
    return (
      <span
        class="wb-dim"
        title={counts.lowered ? "Made operators calls of functions" : "Changed the grouping or the types, not the ops"}
      >
        {counts.lowered ? "lowered" : "regrouped"}
      </span>
    );
  return (
    <>
      {marks.map((mark) => (
        <span key={mark} class={`wb-mark-${mark}`} title={`${counts[mark]} ${mark}`}>
          <MarkSign mark={MARKS.indexOf(mark)} />
          {counts[mark]}
        </span>
      ))}
    </>
  );
}

/** The result of checking a step's outputs, as a mark: the same in the list of the stepper and of the Workbench. */
export function CheckMark({ check }: { check: CheckState | undefined }) {
  switch (check?.status) {
    case "different":
      return (
        <span class="wb-mark-removed wb-strong" title={check.text}>
          ! other outputs
        </span>
      );
    case "same":
      return (
        <span class="wb-mark-added" title="the same answer">
          ✓
        </span>
      );
    case "unknown":
      return (
        <span class="wb-dim" title={check.text}>
          ?
        </span>
      );
    default:
      return null;
  }
}

export function CheckButton({ send }: { send: Send }) {
  return (
    <Button
      label="Run every state on the same random inputs, and report which pass changed the outputs"
      class="wb-button wb-primary"
      testid="check"
      onClick={() => send({ type: "check" })}
    >
      Check outputs
    </Button>
  );
}
