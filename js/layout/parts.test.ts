import assert from "node:assert/strict";
import { test } from "node:test";
import { breakCycles } from "./hierarchy.ts";
import { Skyline } from "./keeping.ts";
import { assignLayers } from "./layering.ts";
import { type LevelGraph } from "./level.ts";
import { CrossingCounter, fromSinks, fromSources, type Order } from "./order.ts";
import { orderLayers } from "./ordering.ts";
import { spread } from "./routing.ts";
import { MinHeap, NetworkSimplex } from "./simplex.ts";
import { type Strata, stratify } from "./strata.ts";
import { below, random } from "./testing/random.ts";

/** A flat level of equal boxes; wires go from lower to higher numbers. */
function level(seed: number, nodes: number): LevelGraph {
  const next = random(seed),
    source: number[] = [],
    target: number[] = [];
  for (let n = 1; n < nodes; n++)
    for (let k = below(next, 4); k > 0; k--) {
      source.push(below(next, n));
      target.push(n);
    }
  const wires = source.length,
    item = new Float32Array(nodes),
    free = { targetShift: new Float32Array(wires).fill(NaN), sourceShift: new Float32Array(wires).fill(NaN) };
  const [words, ports] = [new Uint32Array(nodes), new Uint32Array(wires)];
  return {
    ...{ width: item.slice().fill(40), height: item.slice().fill(20), head: item, foot: item, give: item },
    ...{ kind: words, mainEntry: words, mainWire: ports, sourcePort: ports, targetPort: ports.map((_, i) => i) },
    ...{ source: Uint32Array.from(source), target: Uint32Array.from(target), net: Uint32Array.from(source), ...free },
    ...{ seedX: item.slice().fill(NaN), seedY: item.slice().fill(NaN), haste: 0 },
  };
}

/** Every pair of segments between neighbouring layers, compared end by end. */
function crossingsByPairs(strata: Strata, order: Order): number {
  const { source, target, sourcePort, targetPort, layer } = strata;
  const above = (s: number): number => order.position[source[s]] + sourcePort[s] / 1000;
  const under = (s: number): number => order.position[target[s]] + targetPort[s] / 1000;
  let sum = 0;
  for (let s = 0; s < source.length; s++)
    for (let t = 0; t < s; t++)
      if (layer[source[s]] === layer[source[t]] && (above(s) - above(t)) * (under(s) - under(t)) < 0) sum++;
  return sum;
}

test("crossings are counted as pair by pair, and searching only removes them", () => {
  for (let seed = 0; seed < 30; seed++) {
    const graph = level(seed, 10 + seed),
      strata = stratify(graph, assignLayers(graph)),
      counter = new CrossingCounter(strata);
    const starts = [fromSinks(strata), fromSources(strata)];
    for (const order of starts) assert.equal(counter.total(order), crossingsByPairs(strata, order), `seed ${seed}`);
    const { order: best, crossings } = orderLayers(strata, graph.seedX, 0);
    assert.equal(crossings, counter.total(best));
    assert.equal(counter.total(best), crossingsByPairs(strata, best));
    for (const order of starts) assert.ok(counter.total(best) <= counter.total(order));
    assert.deepEqual(
      [...best.vertex].sort((a, b) => a - b),
      [...new Uint32Array(strata.count).keys()],
      "every vertex once",
    );
  }
});

test("layers go down and are as short in total as exhaustive search finds", () => {
  for (let seed = 0; seed < 25; seed++) {
    const graph = level(seed, 6),
      { layer, count } = assignLayers(graph);
    const length = (at: ArrayLike<number>): number => {
      let sum = 0;
      for (let w = 0; w < graph.source.length; w++) {
        const span = at[graph.target[w]] - at[graph.source[w]];
        if (span < 1) return Infinity;
        sum += span;
      }
      return sum;
    };
    assert.ok(Number.isFinite(length(layer)));
    let least = Infinity;
    for (let code = 0; code < count ** 6; code++)
      least = Math.min(least, length(Array.from({ length: 6 }, (_, n) => Math.floor(code / count ** n) % count)));
    assert.equal(length(layer), least, `seed ${seed}`);
  }
});

test("network simplex finds the optimum of small absolute-value problems", () => {
  for (let seed = 0; seed < 40; seed++) {
    const next = random(seed),
      n = 5,
      from: number[] = [],
      to: number[] = [],
      least: number[] = [],
      weight: number[] = [];
    for (let v = 1; v < n; v++)
      for (let k = 1 + below(next, 2); k > 0; k--) {
        from.push(below(next, v));
        to.push(v);
        least.push(below(next, 3));
        weight.push(below(next, 4));
      }
    const cost = (x: ArrayLike<number>): number => {
      let sum = 0;
      for (let a = 0; a < from.length; a++) {
        const slack = x[to[a]] - x[from[a]] - least[a];
        if (slack < -1e-9) return Infinity;
        sum += weight[a] * slack;
      }
      return sum;
    };
    const position = new Float64Array(n);
    for (let v = 1; v < n; v++)
      for (let a = 0; a < from.length; a++)
        if (to[a] === v) position[v] = Math.max(position[v], position[from[a]] + least[a]);
    new NetworkSimplex({ from, to, least, weight }, position).solve(1e6);
    let best = Infinity;
    for (let code = 0; code < 9 ** (n - 1); code++)
      best = Math.min(best, cost([0, ...Array.from({ length: n - 1 }, (_, i) => Math.floor(code / 9 ** i) % 9)]));
    assert.ok(Math.abs(cost(position) - best) < 1e-6, `seed ${seed}: ${cost(position)} against ${best}`);
  }
});

test("a DAG is left alone; of a cycle, something is turned and nothing is left to turn", () => {
  const rank = Float64Array.from({ length: 5 }, (_, i) => i);
  assert.deepEqual([...breakCycles(Int32Array.of(0, 1, 3), Int32Array.of(1, 2, 2), rank)], [0, 0, 0]);
  const source = Int32Array.of(0, 1, 2, 3, 2),
    target = Int32Array.of(1, 2, 0, 4, 2);
  const turned = breakCycles(source, target, rank);
  assert.deepEqual([...turned], [0, 0, 1, 0, 0]);
  const again = breakCycles(
    source.map((s, e) => (turned[e] ? target[e] : s)),
    target.map((t, e) => (turned[e] ? source[e] : t)),
    rank,
  );
  assert.ok(!again.includes(1));
});

test("ports keep their order and distance and stay close to where they are wanted", () => {
  assert.deepEqual([...spread(Float64Array.of(0), 12, 20)], [0]);
  assert.deepEqual([...spread(Float64Array.of(5, -5), 10, 50)], [-5, 5]);
  assert.deepEqual([...spread(Float64Array.of(-90, 90), 10, 30)], [-30, 30]);
  for (let seed = 0; seed < 50; seed++) {
    const next = random(seed),
      out = spread(
        Float64Array.from({ length: 6 }, () => 200 * next() - 100),
        12,
        60,
      );
    for (let i = 0; i < out.length; i++) {
      assert.ok(out[i] >= -60 - 1e-9 && out[i] <= 60 + 1e-9);
      if (i > 0) assert.ok(out[i] - out[i - 1] >= 12 - 1e-9);
    }
  }
});

test("the heap hands out its items in order", () => {
  const next = random(1),
    heap = new MinHeap(),
    keys = Array.from({ length: 200 }, () => below(next, 50));
  keys.forEach((key, item) => {
    heap.push(item, key);
  });
  const out: number[] = [];
  for (; heap.size > 0; heap.pop()) {
    assert.equal(keys[heap.leastItem], heap.leastKey);
    out.push(heap.leastKey);
  }
  assert.deepEqual(
    out,
    keys.sort((a, b) => a - b),
  );
});

test("a skyline knows what is lowest between two places", () => {
  for (let seed = 0; seed < 20; seed++) {
    const next = random(seed),
      sky = new Skyline(0),
      boxes: [number, number, number, boolean][] = [];
    for (let k = 0; k < 40; k++) {
      const x0 = below(next, 100),
        x1 = x0 + 1 + below(next, 30);
      const inside = boxes.filter(([a, b]) => a < x1 && b > x0);
      const all = Math.max(0, ...inside.map(([, , y]) => y)),
        box = Math.max(-Infinity, ...inside.filter(([, , , is]) => is).map(([, , y]) => y));
      assert.deepEqual(sky.below(x0, x1), { box, all }, `seed ${seed}, step ${k}`);
      const isBox = next() < 0.7,
        bottom = all + below(next, 20);
      sky.put(x0, x1, bottom, isBox);
      boxes.push([x0, x1, bottom, isBox]);
    }
  }
});
