/** The PatternInspector: the graph, the pattern as a tree with what it holds, and beneath it where it matches and nearly does. */
import { fusion } from "./fusion.ts";
import { type Model } from "./model.ts";

export const pattern = (model: Model, el: HTMLElement) => fusion(model, el, {
  side: "Pattern",
  tabs: [["found", "Matches"], ["suggest", "From the selection"], ["code", "Code"]],
  acts: { u: "undo", U: "redo", j: "on", k: "back" },
});
