import assert from "node:assert/strict";
import { test } from "node:test";
import { effect } from "@preact/signals";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { Stage } from "../render/stage.ts";
import { Ruler } from "../render/text.ts";
import { stageSignals } from "./stage_signals.ts";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => undefined;

test("a selection and its picture change together", async () => {
  const stage = new Stage(new Ruler(() => 0.5));
  const signals = stageSignals(stage);
  assert.equal(stageSignals(stage), signals);
  const seen: [number, readonly number[]][] = [];
  const end = effect(() => void seen.push([signals.picture.value.nodeCount, signals.selection.value]));
  const chain = (n: number) => single(graph(Array.from({ length: n }, (_, i) => ({ label: `op${i}` }))));
  await stage.setPicture(chain(2));
  assert.equal(signals.scene.value?.visible.count, 2);
  stage.select([1]);
  assert.deepEqual([...signals.look.value.selected], [1]);
  void stage.setPicture(chain(3));
  assert.deepEqual(
    seen.map(([count, nodes]) => [count, [...nodes]]),
    [
      [0, []],
      [2, []],
      [2, [1]],
      [3, [1]],
    ],
  );
  end();
  stage.dispose();
});
