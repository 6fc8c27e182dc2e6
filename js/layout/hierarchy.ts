/**
 * Cuts a graph with nested groups into levels: one flat graph per group, plus one for the top.
 *
 * An edge that crosses group borders becomes one wire per level it passes: up through an *exit* stub at the
 * bottom of every group it leaves, across the level where both ends first have a common home, and down
 * through an *entry* stub at the top of every group it enters. Stubs are shared by all edges of one producer
 * (one net), so a mask that feeds a thousand nodes of a group enters that group once.
 *
 * Ids: node n is n, group g is N + g, stub k is N + G + k. Level g is the inside of group g; level G the top.
 */
import { rowsBy, topological } from "../graph/csr.ts";
import { type LayoutInput } from "./types.ts";

export const BOX = 0;
export const ENTRY = 1;
export const EXIT = 2;
/** Argument position of a turned-round edge: right of all real arguments. */
const LAST_PORT = 0xffff;

interface Wires {
  level: Int32Array;
  source: Int32Array;
  target: Int32Array;
  /** The stub through which the wire leaves a source group or enters a target group, or -1. */
  sourceStub: Int32Array;
  targetStub: Int32Array;
  net: Int32Array;
  port: Int32Array;
}

export interface Hierarchy {
  nodeCount: number;
  groupCount: number;
  /** Level of each node and group (ids as above). */
  home: Int32Array;
  /** All levels, every group before its parent, the top last. */
  bottomUp: Int32Array;
  wires: Wires;
  stubGroup: number[];
  stubKind: number[];
  stubNet: number[];
  /** Nodes on the longest way from a source to the net's producer, in the whole graph; 0 for turned-round edges. */
  depthOfNet: (net: number) => number;
  /** The wires of edge e, from its upper to its lower end: path[pathStart[e]] .. path[pathEnd[e] - 1]. */
  pathStart: Uint32Array;
  pathEnd: Uint32Array;
  path: Int32Array;
  /** 1 where an edge had to be turned upwards because the boxes it joins form a cycle. */
  reversed: Uint8Array;
}

export function buildHierarchy(input: LayoutInput): Hierarchy {
  const nodeCount = input.nodes.width.length;
  const groupCount = input.groups.parent.length;
  const { source, target, port } = input.edges;
  const edgeCount = source.length;
  const home = homes(input, nodeCount, groupCount);
  const depth = depths(home, nodeCount, groupCount);

  // Where each edge runs level: the deepest level that holds both ends, and the two items it joins there.
  const meet = new Int32Array(edgeCount);
  const upper = new Int32Array(edgeCount);
  const lower = new Int32Array(edgeCount);
  let most = edgeCount;
  for (let e = 0; e < edgeCount; e++) {
    let a = source[e],
      b = target[e];
    let la = home[a],
      lb = home[b];
    for (; la !== lb; most++) {
      if (depth[la] >= depth[lb]) {
        a = nodeCount + la;
        la = home[a];
      } else {
        b = nodeCount + lb;
        lb = home[b];
      }
    }
    meet[e] = la;
    upper[e] = a;
    lower[e] = b;
  }
  const bottomUp = deepestFirst(depth);
  const reversed = breakCycles(upper, lower, meanNode(home, bottomUp, nodeCount, groupCount));

  const valueDepth = depthsOfValues(nodeCount, source, target);

  // No more wires than borders crossed and edges, since nets share what they can.
  const column = (): Int32Array => new Int32Array(most);
  const wires: Wires = {
    level: column(),
    source: column(),
    target: column(),
    sourceStub: column(),
    targetStub: column(),
    net: column(),
    port: column(),
  };
  let wireCount = 0;
  const stubGroup: number[] = [],
    stubKind: number[] = [],
    stubNet: number[] = [],
    stubWire: number[] = [];
  // Last net that made an entry or exit in a group: edges are visited net by net, so one slot is enough.
  const entryNet = new Int32Array(groupCount).fill(-1),
    entryStub = new Int32Array(groupCount);
  const exitNet = new Int32Array(groupCount).fill(-1),
    exitStub = new Int32Array(groupCount);
  const path = column(),
    pathStart = new Uint32Array(edgeCount),
    pathEnd = new Uint32Array(edgeCount);
  let steps = 0;
  const firstStub = nodeCount + groupCount;
  const down: number[] = [];

  const wire = (level: number, s: number, ss: number, t: number, ts: number, net: number, p: number): number => {
    wires.level[wireCount] = level;
    wires.source[wireCount] = s;
    wires.sourceStub[wireCount] = ss;
    wires.target[wireCount] = t;
    wires.targetStub[wireCount] = ts;
    wires.net[wireCount] = net;
    wires.port[wireCount] = p;
    return wireCount++;
  };
  const stub = (group: number, kind: number, net: number): number => {
    stubKind.push(kind);
    stubNet.push(net);
    stubWire.push(-1);
    return stubGroup.push(group) - 1;
  };

  for (const e of byNet(source, reversed, nodeCount)) {
    if (source[e] === target[e]) continue;
    pathStart[e] = steps;
    const turned = reversed[e] === 1;
    const net = turned ? nodeCount + e : source[e];
    const from = turned ? target[e] : source[e],
      to = turned ? source[e] : target[e];
    let item = from,
      itemStub = -1;
    for (let l = home[from]; l !== meet[e]; l = home[nodeCount + l]) {
      if (exitNet[l] !== net) {
        exitNet[l] = net;
        const k = stub(l, EXIT, net);
        exitStub[l] = k;
        stubWire[k] = wire(l, item, itemStub, firstStub + k, -1, net, 0);
      }
      path[steps++] = stubWire[exitStub[l]];
      item = nodeCount + l;
      itemStub = exitStub[l];
    }
    down.length = 0;
    for (let l = home[to]; l !== meet[e]; l = home[nodeCount + l]) down.push(l);
    let level = meet[e];
    while (down.length > 0) {
      const group = down.pop()!;
      if (entryNet[group] !== net) {
        entryNet[group] = net;
        const k = stub(group, ENTRY, net);
        entryStub[group] = k;
        stubWire[k] = wire(level, item, itemStub, nodeCount + group, k, net, 0);
      }
      const k = entryStub[group];
      path[steps++] = stubWire[k];
      item = firstStub + k;
      itemStub = -1;
      level = group;
    }
    path[steps++] = wire(level, item, itemStub, to, -1, net, turned ? LAST_PORT : port[e]);
    pathEnd[e] = steps;
  }
  return {
    nodeCount,
    groupCount,
    home,
    bottomUp,
    wires: { ...wires, level: wires.level.subarray(0, wireCount) },
    stubGroup,
    stubKind,
    stubNet,
    depthOfNet: (net) => (net < nodeCount ? valueDepth[net] : 0),
    path,
    pathStart,
    pathEnd,
    reversed,
  };
}

function homes(input: LayoutInput, nodeCount: number, groupCount: number): Int32Array {
  const home = new Int32Array(nodeCount + groupCount);
  const put = (slot: number, group: number): void => {
    if (group >= groupCount) throw new RangeError(`layout: there is no group ${group} (of ${groupCount})`);
    home[slot] = group < 0 ? groupCount : group;
  };
  for (let n = 0; n < nodeCount; n++) put(n, input.nodes.group[n]);
  for (let g = 0; g < groupCount; g++) put(nodeCount + g, input.groups.parent[g]);
  for (const end of [input.edges.source, input.edges.target])
    for (let e = 0; e < end.length; e++)
      if (end[e] >= nodeCount) throw new RangeError(`layout: edge ${e} names node ${end[e]} of ${nodeCount}`);
  return home;
}

/** Depth of every level; the top has 0. Each chain of parents is walked once, without recursion. */
function depths(home: Int32Array, nodeCount: number, groupCount: number): Int32Array {
  const depth = new Int32Array(groupCount + 1).fill(-1);
  depth[groupCount] = 0;
  const chain: number[] = [];
  for (let g = 0; g < groupCount; g++) {
    let l = g;
    while (depth[l] === -1) {
      chain.push(l);
      if (chain.length > groupCount) throw new RangeError("layout: a group is inside itself");
      l = home[nodeCount + l];
    }
    for (let d = depth[l]; chain.length > 0; ) depth[chain.pop()!] = ++d;
  }
  return depth;
}

function deepestFirst(depth: Int32Array): Int32Array {
  const deepest = depth.reduce((a, b) => Math.max(a, b), 0);
  return Int32Array.from(
    rowsBy(
      depth.map((d) => deepest - d),
      deepest + 1,
    ).items,
  );
}

/** Longest ways from the sources; nodes on or below a cycle come last, and count from their known sources. */
function depthsOfValues(nodeCount: number, source: Uint32Array, target: Uint32Array): Int32Array {
  const out = rowsBy(source, nodeCount);
  const depth = new Int32Array(nodeCount);
  for (const n of topological(source, target, nodeCount, undefined, out))
    for (let k = out.offset[n]; k < out.offset[n + 1]; k++)
      depth[target[out.items[k]]] = Math.max(depth[target[out.items[k]]], depth[n] + 1);
  return depth;
}

/** The mean number of the nodes inside each item: a node's own number, a group's all the way down. */
function meanNode(home: Int32Array, bottomUp: Int32Array, nodeCount: number, groupCount: number): Float64Array {
  const sum = new Float64Array(nodeCount + groupCount + 1),
    size = new Float64Array(nodeCount + groupCount + 1);
  const add = (item: number): void => {
    sum[nodeCount + home[item]] += sum[item];
    size[nodeCount + home[item]] += size[item];
  };
  for (let n = 0; n < nodeCount; n++) {
    sum[n] = n;
    size[n] = 1;
    add(n);
  }
  for (const level of bottomUp) if (level < groupCount) add(nodeCount + level);
  return sum.map((s, i) => s / Math.max(1, size[i])).subarray(0, nodeCount + groupCount);
}

/** Edges grouped by producer in producer order; turned-round edges, each its own net, come last. */
function byNet(source: Uint32Array, reversed: Uint8Array, nodeCount: number): Uint32Array {
  const net = source.map((s, e) => (reversed[e] ? nodeCount : s));
  return rowsBy(net, nodeCount + 1).items;
}

/**
 * Finds the edges to turn round so that the boxes of every level form a DAG (Sugiyama's first step). A dataflow graph
 * has no cycle, but its boxes can: a scope that is left and entered again, or a collapsed one. Inside a strongly
 * connected part, boxes are ranked by the mean number of their nodes - producers come first - and edges against
 * that ranking are turned: a local rule, so that a small change of the graph turns few edges differently.
 * The edges of all levels are searched together: items of different levels share no edge, so they never meet.
 */
export function breakCycles(source: Int32Array, target: Int32Array, rank: Float64Array): Uint8Array {
  const turned = new Uint8Array(source.length);
  // Edges that all go to a higher rank make no cycle.
  if (source.every((s, e) => s === target[e] || rank[s] < rank[target[e]])) return turned;
  const part = strongParts(rank.length, source, target);
  for (let e = 0; e < source.length; e++) {
    const s = source[e],
      t = target[e];
    if (s === t || part[s] !== part[t]) continue;
    if (rank[s] > rank[t] || (rank[s] === rank[t] && s > t)) turned[e] = 1;
  }
  return turned;
}

/** R. Tarjan, "Depth-first search and linear graph algorithms" (1972), with its own stack instead of recursion. */
function strongParts(count: number, source: Int32Array, target: Int32Array): Int32Array {
  const { offset, items } = rowsBy(source, count);
  const part = new Int32Array(count).fill(-1);
  const index = new Int32Array(count).fill(-1),
    low = new Int32Array(count);
  const next = offset.slice(0, count);
  const path: number[] = [],
    pending: number[] = [];
  let found = 0;
  const enter = (v: number): void => {
    index[v] = low[v] = found++;
    path.push(v);
    pending.push(v);
  };
  for (let root = 0; root < count; root++) {
    if (index[root] >= 0) continue;
    enter(root);
    while (path.length > 0) {
      const v = path[path.length - 1];
      if (next[v] < offset[v + 1]) {
        const u = target[items[next[v]++]];
        if (index[u] < 0) enter(u);
        else if (part[u] < 0) low[v] = Math.min(low[v], index[u]);
        continue;
      }
      path.pop();
      if (path.length > 0) low[path[path.length - 1]] = Math.min(low[path[path.length - 1]], low[v]);
      if (low[v] !== index[v]) continue;
      for (let u = -1; u !== v; ) {
        u = pending.pop()!;
        part[u] = v;
      }
    }
  }
  return part;
}
