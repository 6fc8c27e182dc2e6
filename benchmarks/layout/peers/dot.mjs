// Native dot: the picture compiler people know. Run as a child, read back from -Tjson.
import { spawnSync } from "node:child_process";
import { linesFromGraphviz, toDot } from "./graphviz.mjs";

export function layout(input) {
  return graphviz(input, "");
}

export function graphviz(input, settings) {
  // The shell's `times` says how long dot computed (its last line is that of children); 0 where the system does not count.
  const { stdout, status, error, stderr } = spawnSync("sh", ["-c", "dot -Tjson; code=$?; times >&2; exit $code"], { input: toDot(input, settings), encoding: "utf8", maxBuffer: 1 << 30 });
  if (error || status !== 0) throw new Error(error?.message ?? stderr);
  const cpu = [...stderr.trim().split("\n").pop().matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + 60_000 * m + 1000 * s, 0);
  return { ...linesFromGraphviz(JSON.parse(stdout), input), cpu: cpu || Infinity };
}
