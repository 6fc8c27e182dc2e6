/** One level through Sugiyama's steps: layers, order, places, routes. */
import type { LevelGraph, LevelLayout, Spacing } from "./level";
import { addLoose, wiredItems, withoutLoose } from "./loose";
import { placeVertices } from "./placing";
import { route } from "./routing";
import { arrange } from "./variants";

export function layoutLevel(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const wired = wiredItems(graph);
  if (wired.length === graph.kind.length) return layoutWired(graph, spacing);
  return addLoose(graph, wired, layoutWired(withoutLoose(graph, wired), spacing), spacing);
}

function layoutWired(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const { strata, order } = arrange(graph);
  return route(graph, strata, placeVertices(graph, strata, order, spacing), spacing);
}
