import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { linesFromGraphviz, toDot } from "./graphviz.mjs";

const graphviz = await Graphviz.load();

export function layout(input) {
  return linesFromGraphviz(JSON.parse(graphviz.layout(toDot(input), "json", "dot")), input);
}
