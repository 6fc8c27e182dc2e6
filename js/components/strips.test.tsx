import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { drawn, part } from "../dom_testing.ts";
import { type Busy, type Failure } from "../model/messages.ts";
import { mount } from "./mount.tsx";
import { BusyStrip, ErrorStrip } from "./strips.tsx";

test("an error that was closed comes back when the same mistake is made again", async () => {
  const error = signal<Failure>({ title: "Bad option", text: "fuse_depth", at: 1 });
  const Strip = () => <ErrorStrip error={error.value} />;
  mount(<Strip />, document.body);
  const strip = part<HTMLElement>("error");
  assert.equal(strip.hidden, false);
  strip.querySelector("button")!.click();
  await drawn();
  assert.equal(strip.hidden, true);
  error.value = { ...error.value };
  await drawn();
  assert.equal(strip.hidden, true, "the same occurrence stays closed");
  error.value = { ...error.value, at: 2 };
  await drawn();
  assert.equal(strip.hidden, false);
  assert.match(strip.textContent!, /fuse_depth/);
});

test("a closed error comes back after another one, and after none", async (test) => {
  const [a, b] = ["A", "B"].map((title): Failure => ({ title, text: "", at: 0 }));
  const error = signal<Failure | null | undefined>(a);
  const Strip = () => <ErrorStrip error={error.value} />;
  test.after(mount(<Strip />, document.body));
  const strip = part<HTMLElement>("error");
  for (const between of [b, null]) {
    strip.querySelector("button")?.click();
    await drawn();
    assert.equal(strip.hidden, true);
    error.value = between;
    await drawn();
    assert.equal(strip.hidden, between === null);
    error.value = a;
    await drawn();
    assert.equal(strip.hidden, false);
  }
});

test("work that begins does not show the seconds of the work before", async (test) => {
  const busy = signal<Busy | null>({ what: "Tuning", fraction: null, since: Date.now() / 1000 - 60 });
  const Strip = () => <BusyStrip busy={busy.value} send={() => undefined} />;
  const end = mount(<Strip />, document.body);
  test.after(end);
  await drawn();
  const strip = part<HTMLElement>("busy");
  assert.equal(strip.hidden, false);
  assert.match(strip.textContent ?? "", /60 s/);
  busy.value = null;
  await drawn();
  const seen: boolean[] = [];
  const watching = new MutationObserver(() => seen.push(strip.hidden !== false));
  watching.observe(strip, { attributes: true });
  busy.value = { what: "Predicting", fraction: null, since: Date.now() / 1000 };
  await drawn();
  await drawn();
  watching.disconnect();
  assert.deepEqual([strip.hidden, seen.includes(false)], [true, false]);
});
