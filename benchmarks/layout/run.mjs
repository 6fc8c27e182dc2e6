// Measures the layout engine against its bars and against the engines people would otherwise use.
//   node benchmarks/layout/run.mjs [--json] [--peers] [--timeout=60]
// --json prints one JSON object a row instead of the table; --peers also runs the large graphs on every peer (minutes).
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cases, CROSSING_CASES } from "./cases.mjs";
import { buildEngine, loadEngine } from "./engine.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const flags = process.argv.slice(2);
const asJson = flags.includes("--json");
const timeout = 1000 * Number(flags.find((flag) => flag.startsWith("--timeout="))?.slice(10) ?? 60);
const STOCK = ["dagre", "elk", "wasm-graphviz", "dot", "d3-dag"];
const LABELS = { dagre: "dagre 3.1.3", elk: "elkjs 0.12.1", "wasm-graphviz": "wasm-graphviz 1.29.2", dot: "native dot", "d3-dag": "d3-dag 1.2.2 (no groups)" };

await buildEngine();
const engine = await loadEngine();
const graphs = cases(engine);

/** One JSON row of benchmarks/results.json: ratio is ours to the peer's; met is null where there is no bar. */
function report(what, ours, peer, { ratio = null, bar = "", met = null, unit = "ms" } = {}) {
  const row = { what, ours, peer, ratio, bar, met, unit };
  if (asJson) console.log(JSON.stringify(row));
  else console.log([what.padEnd(58), show(ours, unit).padStart(10), String(peer ?? "").padEnd(34), ratio === null ? "" : `${ratio.toFixed(ratio < 0.1 ? 4 : 2)}x`, bar, met === null ? "" : met ? "met" : "MISSED"].join("  "));
}

function show(value, unit) {
  return value === null ? "-" : `${unit === "ms" || unit === "ratio" ? value.toFixed(unit === "ms" ? 0 : 2) : value} ${unit === "ratio" ? "" : unit}`.trim();
}

function measure(peer, name, runs = 1) {
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, [join(here, "child.mjs"), peer, name, String(runs)], { encoding: "utf8", timeout, maxBuffer: 1 << 28 });
  if (signal) return { failed: `over ${timeout / 1000} s` };
  if (status !== 0) return { failed: /call stack|stack overflow/i.test(stderr) ? "stack overflow" : (stderr.match(/^\w*Error.*$/m)?.[0] ?? "failed").slice(0, 60) };
  return JSON.parse(stdout.trim().split("\n").pop());
}

const havePeers = existsSync(join(here, "node_modules", "elkjs"));
const usable = STOCK.filter((peer) => (peer === "dot" ? spawnSync("dot", ["-V"]).status === 0 : havePeers));
for (const peer of STOCK) if (!usable.includes(peer)) report(`${LABELS[peer]} is not installed`, null, "npm install in benchmarks/layout, or apt install graphviz");

// Speed. The first run of a process is what a person waits for; the median is what a toggle costs.
for (const [name, bar] of [["bert-12", 100], ["10k, groups, mask", 500], ["50k, groups, mask", 2500], ["50k flat, mask", 2500]]) {
  const own = measure("ours", name, 5);
  const size = `${name}: ${own.nodes} nodes, ${own.edges} edges, ${own.groups} groups`;
  report(`${size}, first layout`, own.first, null, { bar: `< ${bar} ms`, met: own.first < bar });
  report(`${size}, median of 5`, own.median, null, { bar: `< ${bar} ms`, met: own.median < bar });
  if (name !== "bert-12" && !flags.includes("--peers")) continue;
  let fastest = null;
  for (const peer of usable) {
    const other = measure(peer, name);
    if (other.failed) { report(`${name}: ${LABELS[peer]}`, own.median, other.failed); continue; }
    report(`${name}: ${LABELS[peer]}`, own.median, `${other.first.toFixed(0)} ms`, { ratio: own.median / other.first });
    if (peer !== "d3-dag" && (!fastest || other.first < fastest.first)) fastest = { ...other, peer };
  }
  if (name === "bert-12" && fastest)
    report(`${name}: against the fastest that keeps the groups`, own.median, `${LABELS[fastest.peer]}: ${fastest.first.toFixed(0)} ms`, { ratio: own.median / fastest.first, bar: "at most 0.05x", met: own.median / fastest.first <= 0.05 });
}

// Opening one group at 10,000 nodes, levels cached: what the worker needs of the 50 ms from click to pixels.
{
  const input = graphs["10k, groups, mask"](), worker = new engine.LayoutEngine();
  const scopes = [...input.groups.parent.keys()].filter((g) => input.groups.parent.some((p) => p === g));
  const closed = engine.collapse(input, () => false), open = engine.collapse(input, (g) => g === scopes[40]);
  worker.layout(closed);
  worker.layout(engine.collapse(input, (g) => g === scopes[20]));
  const start = performance.now();
  worker.layout(open);
  const spent = performance.now() - start;
  report("open one scope at 10,000 nodes, the rest closed", spent, null, { bar: "< 50 ms", met: spent < 50 });
}

// Crossings against native dot, counted by the same script; lines through boxes and overlaps by the laws of the tests.
let violations = 0, logs = 0, count = 0, worst = 0;
for (const name of CROSSING_CASES(Object.keys(graphs))) {
  const input = graphs[name]();
  violations += engine.violations(input, engine.layout(input)).length;
  if (!usable.includes("dot")) continue;
  const own = measure("ours", name), dot = measure("dot", name);
  if (dot.failed) { report(`crossings, ${name}`, own.crossings, dot.failed, { unit: "" }); continue; }
  const ratio = (own.crossings + 1) / (dot.crossings + 1);
  logs += Math.log(ratio);
  worst = Math.max(worst, ratio);
  count++;
  report(`crossings, ${name}`, own.crossings, `native dot: ${dot.crossings}`, { ratio, unit: "" });
}
if (count > 0) {
  const mean = Math.exp(logs / count);
  report(`crossings, geometric mean over ${count} graphs`, mean, "native dot", { ratio: mean, bar: "at most 1.25x", met: mean <= 1.25, unit: "ratio" });
  report("crossings, worst graph (one more on either side)", worst, "native dot", { ratio: worst, unit: "ratio" });
}
for (const name of ["bert-12", "bert-12 flat", "10k, groups, mask"]) {
  const input = graphs[name]();
  violations += engine.violations(input, engine.layout(input)).length;
}
report("edges through boxes, overlaps and boxes out of place, all graphs", violations, null, { bar: "0", met: violations === 0, unit: "" });
