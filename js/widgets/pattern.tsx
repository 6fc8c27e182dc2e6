/** The PatternInspector: the graph, the pattern as a tree, and beneath it its matches and near misses. */
import { type Model } from "../model/model.ts";
import { fusion, UNDO } from "./fusion.tsx";

export const pattern = (model: Model, el: HTMLElement) =>
  fusion(model, el, {
    side: "Pattern",
    tabs: [
      { name: "found", title: "Matches" },
      { name: "models", title: "In other models" },
      { name: "suggest", title: "From the selection" },
      { name: "code", title: "Code" },
    ],
    acts: [UNDO, ["next, previous match", { j: "on", k: "back" }]],
  });
