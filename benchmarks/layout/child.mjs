// One engine on one graph in a process of its own, so that a crash, a hang or a warm compiler touches nothing else.
// node child.mjs ENGINE CASE RUNS -> one JSON line with times in ms, crossings and sizes
import { countCrossings } from "./crossings.mjs";
import { cases } from "./cases.mjs";
import { loadEngine } from "./engine.mjs";

const [engine, name, runs] = process.argv.slice(2);
const peer = await import(`./peers/${engine}.mjs`);
const input = cases(await loadEngine())[name]();
const times = [];
let drawn;
for (let i = 0; i < Number(runs); i++) {
  const start = performance.now(), before = process.cpuUsage();
  drawn = await peer.layout(input);
  const wall = performance.now() - start, { user, system } = process.cpuUsage(before);
  // Waiting for other processes of the machine is not the engine's time; its own helper threads are not ours to wait for.
  times.push(Math.min(wall, drawn.cpu ?? (user + system) / 1000));
}
const countable = input.nodes.width.length <= 2000;
console.log(JSON.stringify({
  first: times[0], median: times.slice().sort((a, b) => a - b)[times.length >> 1],
  crossings: countable ? countCrossings(input.edges, drawn.lines) : null,
  width: drawn.width, height: drawn.height, nodes: input.nodes.width.length, edges: input.edges.source.length, groups: input.groups.parent.length,
}));
