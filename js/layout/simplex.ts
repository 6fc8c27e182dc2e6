/**
 * Network simplex: positions that minimise the sum of weight * (position[to] - position[from]) over
 * all arcs, with every arc at least as long as it must be. One solver serves layers and sideways places.
 * E. Gansner, E. Koutsofios, S. North, K.-P. Vo, "A Technique for Drawing Directed Graphs", IEEE TSE 19(3), 1993, section 2.3.
 *
 * The spanning tree is kept in postorder (Gansner's low and lim), so that a subtree is a slice of one array and
 * nothing recurses. An arc's cut value is the supply (outgoing minus incoming weight) of the subtree below it.
 */
import { type Rows, rowsBy } from "../graph/csr.ts";

interface Arcs {
  from: ArrayLike<number>;
  to: ArrayLike<number>;
  least: ArrayLike<number>;
  weight: ArrayLike<number>;
}

/** Arcs that are added one by one. */
export class ArcList implements Arcs {
  readonly from: number[] = [];
  readonly to: number[] = [];
  readonly least: number[] = [];
  readonly weight: number[] = [];

  add(from: number, to: number, least: number, weight: number): void {
    this.from.push(from);
    this.to.push(to);
    this.least.push(least);
    this.weight.push(weight);
  }
}

const EPSILON = 1e-6;
const SEARCH = 30;

export class NetworkSimplex {
  private readonly out: Rows;
  private readonly into: Rows;
  private readonly treeArcs: number[][];
  private readonly treeList: number[] = [];
  private readonly treeSlot: Int32Array;
  private readonly parentArc: Int32Array;
  private readonly low: Int32Array;
  private readonly lim: Int32Array;
  private readonly postorder: Int32Array;
  private readonly supply: Float64Array;
  private readonly subtreeSupply: Float64Array;
  private work = 0;
  private searchFrom = 0;

  /** `position` is feasible on entry, and the best found on return; the arcs must connect all nodes. */
  constructor(
    private readonly arcs: Arcs,
    private readonly position: Float64Array,
  ) {
    const n = position.length,
      m = arcs.from.length;
    this.out = rowsBy(arcs.from, n);
    this.into = rowsBy(arcs.to, n);
    this.treeArcs = Array.from({ length: n }, () => []);
    this.treeSlot = new Int32Array(m);
    this.parentArc = new Int32Array(n).fill(-1);
    this.low = new Int32Array(n);
    this.lim = new Int32Array(n);
    this.postorder = new Int32Array(n);
    this.supply = new Float64Array(n);
    this.subtreeSupply = new Float64Array(n);
    for (let a = 0; a < m; a++) {
      this.supply[arcs.from[a]] += arcs.weight[a];
      this.supply[arcs.to[a]] -= arcs.weight[a];
    }
  }

  /** Pivots until optimal or until `budget` units of work (about one node or arc visited) are spent. */
  solve(budget: number): void {
    if (this.position.length < 2) return;
    this.growTree();
    this.number(0, -1, 0);
    while (this.work < budget) {
      const leaving = this.findLeaving();
      if (leaving < 0) return;
      const entering = this.findEntering(leaving);
      if (entering < 0) return;
      this.exchange(leaving, entering);
    }
  }

  private slack(a: number): number {
    return this.position[this.arcs.to[a]] - this.position[this.arcs.from[a]] - this.arcs.least[a];
  }

  /**
   * A spanning tree of tight arcs, grown from node 0: the tree moves as one until its nearest neighbour touches it.
   * Moving changes every slack at its border alike, so two heaps (arcs out of the tree, arcs into it) and one common
   * offset find that neighbour without looking at the border again.
   */
  private growTree(): void {
    const { from, to, least } = this.arcs,
      { position } = this,
      n = position.length;
    const reached = new Uint8Array(n);
    const leaving = new MinHeap(),
      arriving = new MinHeap();
    let offset = 0,
      count = 0;
    const reach = (v: number): void => {
      reached[v] = 1;
      count++;
      position[v] -= offset;
      for (let k = this.out.offset[v]; k < this.out.offset[v + 1]; k++) {
        const a = this.out.items[k];
        if (!reached[to[a]]) leaving.push(a, position[to[a]] - position[v] - least[a]);
      }
      for (let k = this.into.offset[v]; k < this.into.offset[v + 1]; k++) {
        const a = this.into.items[k];
        if (!reached[from[a]]) arriving.push(a, position[v] - position[from[a]] - least[a]);
      }
    };
    reach(0);
    while (count < n) {
      while (leaving.size > 0 && reached[to[leaving.leastItem]]) leaving.pop();
      while (arriving.size > 0 && reached[from[arriving.leastItem]]) arriving.pop();
      const down = leaving.size > 0 ? leaving.leastKey - offset : Infinity;
      const up = arriving.size > 0 ? arriving.leastKey + offset : Infinity;
      if (down === Infinity && up === Infinity) throw new Error("network simplex: the arcs do not connect all nodes");
      const a = down <= up ? leaving.leastItem : arriving.leastItem;
      offset += down <= up ? down : -up;
      this.addTreeArc(a);
      reach(down <= up ? to[a] : from[a]);
    }
    for (let v = 0; v < n; v++) position[v] += offset;
    this.work += this.arcs.from.length;
  }

  private addTreeArc(a: number): void {
    this.treeSlot[a] = this.treeList.push(a) - 1;
    this.treeArcs[this.arcs.from[a]].push(a);
    this.treeArcs[this.arcs.to[a]].push(a);
  }

  /** Numbers the subtree of `root` in postorder from `first`, and sums its supplies. */
  private number(root: number, parent: number, first: number): void {
    const { from, to } = this.arcs;
    const stack = [root],
      next = [0];
    this.parentArc[root] = parent;
    this.low[root] = first;
    for (let count = first; stack.length > 0; this.work++) {
      const v = stack[stack.length - 1],
        k = next[next.length - 1]++;
      if (k < this.treeArcs[v].length) {
        const a = this.treeArcs[v][k];
        if (a === this.parentArc[v]) continue;
        const u = from[a] === v ? to[a] : from[a];
        this.parentArc[u] = a;
        this.low[u] = count;
        stack.push(u);
        next.push(0);
        continue;
      }
      let sum = this.supply[v];
      for (const a of this.treeArcs[v])
        if (a !== this.parentArc[v]) sum += this.subtreeSupply[from[a] === v ? to[a] : from[a]];
      this.subtreeSupply[v] = sum;
      this.postorder[count] = v;
      this.lim[v] = count++;
      stack.pop();
      next.pop();
    }
  }

  /** The end of a tree arc that is farther from the root. */
  private child(a: number): number {
    const f = this.arcs.from[a],
      t = this.arcs.to[a];
    return this.lim[f] < this.lim[t] ? f : t;
  }

  /** A tree arc with a negative cut value; the worst of the first few found, going round the tree. */
  private findLeaving(): number {
    let best = -1,
      worst = -EPSILON,
      found = 0;
    const m = this.treeList.length;
    for (let i = 0; i < m && found < SEARCH; i++, this.work++) {
      const a = this.treeList[this.searchFrom];
      this.searchFrom = (this.searchFrom + 1) % m;
      const v = this.child(a);
      const cut = v === this.arcs.from[a] ? this.subtreeSupply[v] : -this.subtreeSupply[v];
      if (cut >= -EPSILON) continue;
      found++;
      if (cut < worst) {
        worst = cut;
        best = a;
      }
    }
    return best;
  }

  /** The tightest arc that crosses the cut the other way. */
  private findEntering(leaving: number): number {
    const { from, to } = this.arcs;
    const v = this.child(leaving),
      low = this.low[v],
      lim = this.lim[v];
    const inwards = v === from[leaving];
    const rows = inwards ? this.into : this.out,
      far = inwards ? from : to;
    let best = -1,
      least = Infinity;
    for (let i = low; i <= lim; i++) {
      const u = this.postorder[i];
      for (let k = rows.offset[u]; k < rows.offset[u + 1]; k++) {
        const a = rows.items[k],
          outside = this.lim[far[a]];
        if (outside >= low && outside <= lim) continue;
        const s = this.slack(a);
        if (s < least) {
          least = s;
          best = a;
        }
      }
      this.work += rows.offset[u + 1] - rows.offset[u] + 1;
    }
    return best;
  }

  private exchange(leaving: number, entering: number): void {
    const { from, to } = this.arcs;
    const v = this.child(leaving),
      shift = this.slack(entering) * (v === from[leaving] ? -1 : 1);
    if (shift !== 0) for (let i = this.low[v]; i <= this.lim[v]; i++) this.position[this.postorder[i]] += shift;
    // Only the subtree of the lowest common ancestor of the entering arc's ends changes its shape.
    let top = from[entering];
    while (this.lim[to[entering]] < this.low[top] || this.lim[to[entering]] > this.lim[top]) {
      const a = this.parentArc[top];
      top = from[a] === top ? to[a] : from[a];
    }
    this.treeSlot[entering] = this.treeSlot[leaving];
    this.treeList[this.treeSlot[entering]] = entering;
    for (const end of [from[leaving], to[leaving]]) this.treeArcs[end].splice(this.treeArcs[end].indexOf(leaving), 1);
    this.treeArcs[from[entering]].push(entering);
    this.treeArcs[to[entering]].push(entering);
    this.number(top, this.parentArc[top], this.low[top]);
  }
}

/** A binary min-heap of numbered things by key. */
export class MinHeap {
  private readonly keys: number[] = [];
  private readonly items: number[] = [];

  get size(): number {
    return this.items.length;
  }
  get leastKey(): number {
    return this.keys[0];
  }
  get leastItem(): number {
    return this.items[0];
  }

  push(item: number, key: number): void {
    let i = this.items.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.keys[parent] <= key) break;
      this.set(i, this.items[parent], this.keys[parent]);
      i = parent;
    }
    this.set(i, item, key);
  }

  /** Drops the least. */
  pop(): void {
    const item = this.items.pop()!,
      key = this.keys.pop()!,
      n = this.items.length;
    if (n === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && this.keys[child + 1] < this.keys[child]) child++;
      if (this.keys[child] >= key) break;
      this.set(i, this.items[child], this.keys[child]);
      i = child;
    }
    this.set(i, item, key);
  }

  private set(i: number, item: number, key: number): void {
    this.items[i] = item;
    this.keys[i] = key;
  }
}
