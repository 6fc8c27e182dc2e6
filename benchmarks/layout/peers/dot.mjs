// Native dot: the picture compiler people know. Run as a child, read back from -Tjson.
import { spawnSync } from "node:child_process";
import { linesFromGraphviz, toDot } from "./graphviz.mjs";

export function layout(input) {
  return graphviz(input, "");
}

export function graphviz(input, settings) {
  const { stdout, status, error, stderr } = spawnSync("dot", ["-Tjson"], { input: toDot(input, settings), encoding: "utf8", maxBuffer: 1 << 30 });
  if (error || status !== 0) throw new Error(error?.message ?? stderr);
  return linesFromGraphviz(JSON.parse(stdout), input);
}
