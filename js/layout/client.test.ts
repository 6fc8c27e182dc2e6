import assert from "node:assert/strict";
import { test } from "node:test";
import { LayoutClient, Superseded } from "./client";
import { LayoutEngine } from "./compound";
import type { Reply, Request } from "./messages";
import { resnet } from "./testing/generators";
import { Builder } from "./testing/builder";

/** Behaves like the browser's Worker with worker.ts inside, plus a message that makes it crash. */
class FakeWorker {
  static made = 0;
  onmessage: ((event: MessageEvent<Reply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  crash = false;
  private readonly engine = new LayoutEngine();
  constructor() { FakeWorker.made++; }
  postMessage({ id, input }: Request): void {
    setTimeout(() => {
      if (this.crash) return this.onerror?.({ message: "out of memory" } as ErrorEvent);
      let reply: Reply;
      try { reply = { id, result: this.engine.layout(input) }; } catch (error) { reply = { id, error: (error as Error).message }; }
      this.onmessage?.({ data: reply } as MessageEvent<Reply>);
    }, 1);
  }
  terminate(): void {}
}

function clientWith(worker: () => FakeWorker): LayoutClient {
  return new LayoutClient(() => worker() as unknown as Worker);
}

test("the newest request of a channel wins, other channels are left alone", async () => {
  const client = clientWith(() => new FakeWorker());
  const input = resnet([1]).input();
  const [first, second, third, other] = await Promise.allSettled([
    client.run(input), client.run(input), client.run(input), client.run(input, { channel: "after" }),
  ]);
  assert.ok(first.status === "rejected" && first.reason instanceof Superseded);
  assert.ok(second.status === "rejected" && second.reason instanceof Superseded);
  assert.equal(third.status, "fulfilled");
  assert.equal(other.status, "fulfilled");
});

test("an error is readable and the next call works", async () => {
  const client = clientWith(() => new FakeWorker());
  const bad = resnet([1]).input();
  bad.edges.source[0] = 9999;
  await assert.rejects(client.run(bad), /Layout failed: layout: edge 0 names node 9999/);
  assert.ok((await client.run(resnet([1]).input())).width > 0);
});

test("a crashed worker is replaced", async () => {
  const workers: FakeWorker[] = [];
  const client = clientWith(() => (workers.push(new FakeWorker()), workers[workers.length - 1]));
  const input = resnet([1]).input();
  await client.run(input);
  workers[0].crash = true;
  await assert.rejects(client.run(input), /Layout failed: out of memory/);
  assert.ok((await client.run(input)).width > 0);
  assert.equal(workers.length, 2);
});

test("a page that forbids workers still gets its layout", async () => {
  const throwing = new LayoutClient(() => { throw new Error("blocked by the content security policy"); });
  assert.ok((await throwing.run(resnet([1]).input())).width > 0);
  assert.equal(throwing.usesWorker, false);
  const silent = clientWith(() => Object.assign(new FakeWorker(), { crash: true }));
  assert.ok((await silent.run(resnet([1]).input())).width > 0);
  assert.equal(silent.usesWorker, false);
});

test("a worker may take a while to open: requests wait for it, and a closed client wants none", async () => {
  const later = () => new Promise<Worker>((resolve) => setTimeout(() => resolve(new FakeWorker() as unknown as Worker), 2));
  const client = new LayoutClient(later);
  const input = resnet([1]).input();
  const [before, after] = await Promise.all([client.run(input, { channel: "before" }), client.run(input, { channel: "after" })]);
  assert.ok(before.width > 0 && after.width > 0 && client.usesWorker);
  const refused = new LayoutClient(() => Promise.reject(new Error("no")));
  assert.ok((await refused.run(input)).width > 0 && !refused.usesWorker);
  const closed = new LayoutClient(later);
  const pending = closed.run(input);
  closed.dispose();
  await assert.rejects(pending, Superseded);
});

test("a closed client rejects", async () => {
  const client = clientWith(() => new FakeWorker());
  const pending = client.run(new Builder().input());
  client.dispose();
  await assert.rejects(pending, Superseded);
  await assert.rejects(client.run(new Builder().input()), /closed/);
});
