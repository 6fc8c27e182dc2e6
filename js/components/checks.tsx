/** The result of checking a step's outputs, as a mark: the same in the list of the stepper and of the Workbench. */
import { type CheckState } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { Button } from "./button.tsx";

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
