// Native dot: the picture compiler people know. Run as a child, read back from -Tjson.
import { spawnSync } from "node:child_process";
import { toDot, linesFromGraphviz } from "./graphviz.mjs";

export const name = "native dot";
export const keepsGroups = true;

export function version() {
  return spawnSync("dot", ["-V"], { encoding: "utf8" }).stderr?.match(/\d+\.\d+\.\d+/)?.[0];
}

export function layout(input) {
  const { stdout, status, error, stderr } = spawnSync("dot", ["-Tjson"], { input: toDot(input), encoding: "utf8", maxBuffer: 1 << 30 });
  if (error || status !== 0) throw new Error(error?.message ?? stderr);
  return linesFromGraphviz(JSON.parse(stdout), input);
}
