/** One level through Sugiyama's steps: layers, order, places, routes. */
import { assignLayers } from "./layering";
import type { LevelGraph, LevelLayout, Spacing } from "./level";
import { orderLayers } from "./ordering";
import { placeVertices } from "./placing";
import { route } from "./routing";
import { stratify } from "./strata";

export function layoutLevel(graph: LevelGraph, spacing: Spacing): LevelLayout {
  const strata = stratify(graph, assignLayers(graph));
  const order = orderLayers(strata, graph.seed);
  return route(graph, strata, placeVertices(graph, strata, order, spacing), spacing);
}
