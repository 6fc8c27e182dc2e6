import assert from "node:assert/strict";
import { test } from "node:test";
import { resnet } from "../layout/testing/generators.ts";
import { Arranger } from "./arranger.ts";

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
