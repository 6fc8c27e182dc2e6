import assert from "node:assert/strict";
import { test } from "node:test";
import { Arranger, engineHere, LayoutClient, type LayoutSource, Superseded } from "./client.ts";
import { LayoutEngine } from "./compound.ts";
import { Builder } from "./testing/builder.ts";
import { resnet } from "./testing/generators.ts";
import { type Reply, type Request } from "./types.ts";

/** Behaves like the browser's Worker with worker.ts inside; a test can make it crash, or answer when the test wants. */
class FakeWorker {
  onmessage: ((event: MessageEvent<Reply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  crash = false;
  ended = false;
  readonly asked: Request[] = [];
  private readonly engine = new LayoutEngine();

  constructor(private readonly held = false) {}

  postMessage(request: Request): void {
    this.asked.push(request);
    if (!this.held) setTimeout(() => this.answer(request), 1);
  }

  answer({ id, input }: Request): void {
    if (this.ended) return;
    if (this.crash) return this.onerror?.({ message: "out of memory" } as ErrorEvent);
    let reply: Reply;
    try {
      reply = { id, result: this.engine.layout(input) };
    } catch (error) {
      reply = { id, error: (error as Error).message };
    }
    this.onmessage?.({ data: reply } as MessageEvent<Reply>);
  }

  terminate(): void {
    this.ended = true;
  }
}

const engine = async () => new LayoutEngine();
const input = resnet([1]).input();

function clientWith(worker: () => FakeWorker, source: Partial<LayoutSource> = {}): LayoutClient {
  return new LayoutClient({ makeWorker: () => worker() as unknown as Worker, engine, ...source });
}

/** A client, and the workers it has made; those keep their answers until the test asks for them. */
function heldClient(): { client: LayoutClient; workers: FakeWorker[] } {
  const workers: FakeWorker[] = [];
  const make = () => {
    const worker = new FakeWorker(true);
    workers.push(worker);
    return worker;
  };
  return { client: clientWith(make, { longMs: 5 }), workers };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(true_: () => boolean): Promise<void> {
  for (let turn = 0; turn < 400 && !true_(); turn++) await pause(5);
  assert.ok(true_());
}

test("the newest request of a channel wins, other channels are left alone", async () => {
  const client = clientWith(() => new FakeWorker());
  const [first, second, third, other] = await Promise.allSettled([
    client.run(input, "a"),
    client.run(input, "a"),
    client.run(input, "a"),
    client.run(input, "after"),
  ]);
  assert.ok(first.status === "rejected" && first.reason instanceof Superseded);
  assert.ok(second.status === "rejected" && second.reason instanceof Superseded);
  assert.equal(third.status, "fulfilled");
  assert.equal(other.status, "fulfilled");
});

test("short layouts share one worker", async () => {
  let made = 0;
  const client = clientWith(
    () => {
      made++;
      return new FakeWorker();
    },
    { longMs: 60_000 },
  );
  client.warm();
  await Promise.all(["a", "b", "c"].map((channel) => client.run(input, channel)));
  assert.equal(made, 1);
});

test("a long layout does not hold up the others", async () => {
  const { client, workers } = heldClient();
  const long = client.run(input, "long");
  const short = client.run(input, "short");
  assert.equal(workers.length, 1);
  await until(() => workers.length === 2);
  workers[1].answer(workers[1].asked[0]);
  assert.ok((await short).width > 0);
  assert.ok(!workers[1].ended);
  workers[0].answer(workers[0].asked[0]);
  assert.ok((await long).width > 0);
  assert.deepEqual([workers[0].ended, workers[1].ended].sort(), [false, true], "one idle worker stays");
});

test("a page has at most four workers, and the fifth long layout waits", async () => {
  const { client, workers } = heldClient();
  const layouts = [1, 2, 3, 4, 5].map((n) => client.run(input, String(n)));
  await until(() => workers.length === 4);
  await pause(20);
  assert.equal(workers.length, 4);
  workers[2].answer(workers[2].asked[0]);
  assert.ok((await layouts[2]).width > 0);
  assert.equal(workers[2].asked.length, 2);
  client.dispose();
  for (const layout of await Promise.allSettled(layouts.filter((_, n) => n !== 2)))
    assert.ok(layout.status === "rejected" && layout.reason instanceof Superseded);
  assert.ok(workers.every(({ ended }) => ended));
});

test("a dropped channel leaves the queue", async () => {
  const { client, workers } = heldClient();
  const [running, waiting, other] = ["a", "b", "c"].map((channel) => client.run(input, channel));
  client.drop("a");
  client.drop("b");
  await assert.rejects(running, Superseded);
  await assert.rejects(waiting, Superseded);
  workers[0].answer(workers[0].asked[0]);
  workers[0].answer(workers[0].asked[1]);
  assert.ok((await other).width > 0);
  assert.equal(workers[0].asked.length, 2);
});

test("long layouts that are superseded end, and one worker stays", async () => {
  const { client, workers } = heldClient();
  const ends: Promise<string>[] = [];
  for (const count of [1, 2, 3, 4]) {
    const layout = client.run(input, "a");
    ends.push(
      layout.then(
        () => "done",
        ({ name }: Error) => name,
      ),
    );
    await until(() => workers.length === count);
    await pause(20);
  }
  assert.deepEqual(
    workers.map(({ ended }) => ended),
    [true, true, false, false],
  );
  workers[3].answer(workers[3].asked[0]);
  assert.deepEqual(await Promise.all(ends), ["Superseded", "Superseded", "Superseded", "done"]);
  client.dispose();
});

test("an error is readable and the next call works", async () => {
  const client = clientWith(() => new FakeWorker());
  const bad = resnet([1]).input();
  bad.edges.source[0] = 9999;
  await assert.rejects(client.run(bad, "a"), /Layout failed: layout: edge 0 names node 9999/);
  assert.ok((await client.run(input, "a")).width > 0);
});

test("a crashed worker is replaced", async () => {
  const workers: FakeWorker[] = [];
  const client = clientWith(() => {
    workers.push(new FakeWorker());
    return workers[workers.length - 1];
  });
  await client.run(input, "a");
  workers[0].crash = true;
  await assert.rejects(client.run(input, "a"), /Layout failed: out of memory/);
  assert.ok((await client.run(input, "a")).width > 0);
  assert.equal(workers.length, 2);
});

test("a page that forbids workers still gets its layout", async () => {
  let tries = 0;
  const makeWorker = () => {
    tries++;
    throw new Error("blocked by the content security policy");
  };
  const throwing = new LayoutClient({ makeWorker, engine });
  assert.ok((await throwing.run(input, "a")).width > 0);
  assert.ok((await throwing.run(input, "a")).width > 0);
  assert.equal(tries, 1);
  const silent = clientWith(() => Object.assign(new FakeWorker(), { crash: true }));
  assert.ok((await silent.run(input, "a")).width > 0);
});

test("a page that forbids the engine too gets an error", async () => {
  const client = clientWith(() => Object.assign(new FakeWorker(), { crash: true }), {
    engine: () => Promise.reject(new Error("blocked by the content security policy")),
  });
  await assert.rejects(client.run(input, "a"), /Layout failed: blocked by/);
});

test("the worker's program is the engine of a page without workers", async () => {
  const made = await engineHere();
  assert.deepEqual(made.layout(input), new LayoutEngine().layout(input));
});

test("a closed client rejects", async () => {
  const client = clientWith(() => new FakeWorker());
  const pending = client.run(new Builder().input(), "a");
  client.dispose();
  await assert.rejects(pending, Superseded);
  await assert.rejects(client.run(new Builder().input(), "a"), /closed/);
});

/** Counts the workers that are open; it answers nothing. */
class CountedWorker {
  static open = 0;

  constructor() {
    CountedWorker.open++;
  }

  postMessage(): void {
    // the answer never comes
  }

  terminate(): void {
    CountedWorker.open--;
  }
}

test("views share a worker, which ends after the last of them", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.Worker = CountedWorker as unknown as typeof Worker;
  const [first, second] = [new Arranger(), new Arranger()];
  assert.equal(CountedWorker.open, 1);
  const pending = first.run(resnet([1]).input());
  first.dispose();
  first.dispose();
  assert.equal(await pending, null);
  t.mock.timers.tick(10_000);
  assert.equal(CountedWorker.open, 1, "the second view needs it");
  second.dispose();
  t.mock.timers.tick(500);
  const third = new Arranger();
  t.mock.timers.tick(10_000);
  assert.equal(CountedWorker.open, 1, "a view was made within the second");
  third.dispose();
  t.mock.timers.tick(10_000);
  assert.equal(CountedWorker.open, 0);
});
