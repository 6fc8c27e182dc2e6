/** What checking a step's outputs gave, as a mark: the same in the list of the stepper and of the Workbench. */
import { button, h } from "./dom.ts";
import { type CheckState } from "./messages.ts";
import { type Send } from "./model.ts";

export type Checks = Readonly<Record<string, CheckState>>;

/** Whether the pass changed the answer. */
export function failed(check: CheckState | undefined): boolean {
  return check?.status === "different";
}

export function checkMark(check: CheckState | undefined): Node[] {
  switch (check?.status) {
    case "different": return [h("span", { class: "wb-mark-removed wb-strong", title: check.text }, "! other answer")];
    case "same": return [h("span", { class: "wb-mark-added", title: "the same answer" }, "✓")];
    case "unknown": return [h("span", { class: "wb-dim", title: check.text }, "?")];
    default: return [];
  }
}

export function checkButton(send: Send): HTMLButtonElement {
  return button("Check outputs", "Run every state on the same random inputs, and say which pass changed the answer", () => send({ type: "check" }), { class: "wb-button wb-primary", "data-testid": "check" });
}
