/** One level through Sugiyama's steps: layers, order, places, routes. */
import { type LevelGraph, type LevelLayout, type Spacing } from "./level.ts";
import { addLoose, wiredItems, withoutLoose } from "./loose.ts";
import { placeVertices } from "./placing.ts";
import { route } from "./routing.ts";
import { arrange } from "./variants.ts";

export function layoutLevel(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const wired = wiredItems(graph);
  if (wired.length === graph.kind.length) return layoutWired(graph, spacing);
  return addLoose(graph, wired, layoutWired(withoutLoose(graph, wired), spacing), spacing);
}

function layoutWired(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const { strata, order } = arrange(graph);
  return route(graph, strata, placeVertices(graph, strata, order, spacing), spacing);
}
