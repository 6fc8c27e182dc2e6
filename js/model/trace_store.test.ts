import assert from "node:assert/strict";
import { test } from "node:test";
import { type StateMessage, type ToPage, type ToPython } from "./messages.ts";
import { type Model } from "./model.ts";
import { around, onScreen, type Pair, TraceStore, type Wish } from "./trace_store.ts";

/** A kernel that answers each request with graphs of so many nodes, or not at all. */
class Kernel implements Model {
  readonly wishes: string[] = [];
  answers: (wish: Wish) => ToPage | undefined = () => undefined;
  private heard: (message: ToPage, buffers: unknown[]) => void = () => undefined;

  get(): never {
    return undefined as never;
  }
  set(): void {}
  save_changes(): void {}
  off(): void {}
  on(_name: string, callback: (...args: never[]) => void): void {
    this.heard = callback as typeof this.heard;
  }

  send(message: ToPython): void {
    if (message.type !== "want") return;
    for (const wish of message.items as Wish[]) {
      this.wishes.push(wish.join());
      const answer = this.answers(wish);
      if (answer) this.heard(answer, []);
    }
  }
}

/** A column of so many bytes, as a saved page has it: reading it costs little. */
const bytes = (n: number) => Buffer.alloc(n).toString("base64");
const state = (n: number, nodes: number): StateMessage => ({
  type: "state",
  state: n,
  nodes,
  ops: nodes,
  kernels: 1,
  graph: { node: { kind: bytes(nodes) } as never },
});

function all(nodes: number): (wish: Wish) => ToPage | undefined {
  const counts = { added: 1 } as never;
  const marks = bytes(nodes);
  const diff = { before_mark: marks, after_mark: marks, pairs: bytes(2 * nodes) };
  const answers: Record<string, (a: number, b: number) => ToPage> = {
    state: (a) => state(a, nodes),
    facts: (a) => ({ type: "facts", state: a, nodes, ops: nodes, kernels: 1 }),
    diff: (before, after) => ({ type: "diff", before, after, counts, diff }),
    counts: (before, after) => ({ type: "counts", before, after, counts }),
    text: (a) => ({ type: "text", state: a, text: "x".repeat(20 * nodes), lines: marks, loops: [] }),
    lineage: (a, node) => ({ type: "lineage", state: a, node, places: [] }),
  };
  return ([kind, a = 0, b = 0]) => answers[kind]?.(a, b);
}

/** The store of a page whose kernel answers with graphs of so many nodes; without a number, with nothing. */
function opened(nodes?: number): { kernel: Kernel; store: TraceStore } {
  const kernel = new Kernel();
  if (nodes !== undefined) kernel.answers = all(nodes);
  return { kernel, store: new TraceStore(kernel) };
}

test("a lost state is asked for again only when the user wants it", () => {
  const { kernel, store } = opened();
  kernel.answers = (wish) => ({ type: "lost", wish: [...wish], text: "the child process has ended" });
  const wishes = onScreen([0, 1]);
  for (let i = 0; i < 500; i++) store.want(wishes, 3);
  assert.deepEqual(kernel.wishes, ["state,0", "state,1", "diff,0,1"]);
  assert.equal(store.lost(wishes), "the child process has ended");
  kernel.answers = all(3);
  store.retry(wishes);
  assert.equal(kernel.wishes.length, 6);
  assert.equal(store.lost(wishes), "");
  assert.ok(store.diff([0, 1]));
});

test("a thousand steps keep the memory flat", () => {
  const { kernel, store } = opened(1_000);
  const pairs = Array.from({ length: 1_000 }, (_, n): Pair => [n, n + 1]);
  for (const pair of pairs) {
    store.want(around(pair, pairs, 1_001, store.near(pair[0])), 3);
    store.want([...pair.map((state): Wish => ["text", state]), ["lineage", ...pair]]);
    assert.ok(store.graph(pair[0]) && store.graph(pair[1]) && store.diff(pair), `step ${pair[0]} is here`);
  }
  const kept = pairs.filter(([state]) => store.graph(state)).length;
  assert.ok(kept > 100 && kept <= 300, `${kept} graphs of 1,000 nodes are kept`);
  assert.ok(pairs.filter((pair) => store.diff(pair)).length <= 300);
  const asked = kernel.wishes.length;
  assert.ok(asked < 10 * pairs.length, `${asked} requests for ${pairs.length} steps`);
  assert.equal(kernel.wishes.filter((wish) => wish === "counts,500,501").length, 1);
});

test("of graphs of 50,000 nodes only the neighbours are fetched ahead", () => {
  const { store } = opened(50_000);
  store.want([["facts", 5]]);
  assert.equal(store.near(5), 1);
  const pairs = [4, 5, 6].map((n): Pair => [n, n + 1]);
  const wishes = around([5, 6], pairs, 100, store.near(5));
  const states = wishes.flatMap(([kind, n = -1]) => (kind === "state" ? [n] : []));
  assert.deepEqual(
    [...new Set(states)].sort((a, b) => a - b),
    [4, 5, 6, 7],
  );
});

test("what is under way is not asked for twice, unless it is urgent", () => {
  const { kernel, store } = opened();
  store.want([["facts", 3]]);
  store.want([["facts", 3]]);
  assert.equal(kernel.wishes.length, 1);
  store.want([["facts", 3]], 1);
  assert.equal(kernel.wishes.length, 2);
});

test("a state against itself has no changes and needs no request", () => {
  const { kernel, store } = opened(2);
  store.want(onScreen([4, 4]));
  assert.deepEqual(kernel.wishes, ["state,4"]);
  assert.deepEqual(store.diff([4, 4])?.pairs, [0, 0, 1, 1]);
});
