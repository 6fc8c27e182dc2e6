import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesAsText } from "./describe.ts";
import { single } from "./picture.ts";
import { graph } from "./testing.ts";

test("a node as text has its name, type and attributes", () => {
  const picture = single(
    graph([
      { label: "nn.dense", name: "layer_0", attrs: { units: 16 } },
      { label: "tanh", inputs: [0] },
    ]),
  );
  assert.equal(nodesAsText(picture, [0, 1]), "nn.dense  layer_0\n(1, 64) float32\nunits: 16\n\ntanh\n(1, 64) float32");
});

test("a large selection is cut, with the number of the rest", () => {
  const picture = single(graph(Array.from({ length: 1002 }, () => ({ label: "tanh" }))));
  assert.match(nodesAsText(picture, [...Array(1002).keys()]), /\n\nand 2 more$/);
});
