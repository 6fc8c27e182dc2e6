/** One level through Sugiyama's steps: layers, order, places, routes. */
import { assignLayers } from "./layering";
import type { LevelGraph, LevelLayout, Spacing } from "./level";
import { addLoose, wiredItems, withoutLoose } from "./loose";
import { orderLayers } from "./ordering";
import { placeVertices } from "./placing";
import { route } from "./routing";
import { stratify } from "./strata";

export function layoutLevel(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const wired = wiredItems(graph);
  if (wired.length === graph.kind.length) return layoutWired(graph, spacing);
  return addLoose(graph, wired, layoutWired(withoutLoose(graph, wired), spacing), spacing);
}

function layoutWired(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const strata = stratify(graph, assignLayers(graph));
  const order = orderLayers(strata, graph.seedX);
  return route(graph, strata, placeVertices(graph, strata, order, spacing), spacing);
}
