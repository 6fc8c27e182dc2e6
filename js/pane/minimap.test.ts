import assert from "node:assert/strict";
import { test } from "node:test";
import "../dom_testing.ts";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { type Frame } from "../render/frame.ts";
import { PAPER, paperRuler } from "../render/paper.ts";
import { Stage } from "../render/stage.ts";
import { Minimap } from "./minimap.ts";

const VIEW = { width: 800, height: 300 };

test("the map comes after the picture, of the newest one only, and then with each frame", async () => {
  const done: string[] = [];
  const context = new Proxy({}, { get: (_, name) => () => done.push(String(name)), set: () => true });
  HTMLCanvasElement.prototype.getContext = (() => context) as never;
  const stage = new Stage(paperRuler(undefined));
  stage.resize(VIEW);
  const frames: Frame[] = [];
  for (const label of ["tanh", "exp"]) {
    const chain = Array.from({ length: 60 }, (_, n) => ({ label: n ? label : "x", inputs: n ? [n - 1] : [] }));
    await stage.setPicture(single(graph(chain)));
    frames.push(stage.frameFor(VIEW, PAPER, 1)!);
  }
  const count = () => done.splice(0).filter((name) => name === "drawImage").length;
  const map = new Minimap(stage, PAPER, 1);
  const [older, newest] = frames as [Frame, Frame];
  for (const frame of [older, newest]) map.paint(frame);
  assert.equal(count(), 0);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(count(), 1);
  map.paint(newest);
  assert.equal(count(), 1);
  map.paint(older);
  map.paint(older);
  assert.equal(count(), 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(count(), 0);
  stage.dispose();
});
