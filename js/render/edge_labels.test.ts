import assert from "node:assert/strict";
import { test } from "node:test";
import { single } from "../graph/picture.ts";
import { graph } from "../graph/testing.ts";
import { edgeDtype } from "./edge_labels.ts";
import { sx, sy } from "./frame.ts";
import { paint } from "./paint.ts";
import { PAPER, paperRuler } from "./paper.ts";
import { StrokePen, type Words } from "./pen.ts";
import { Stage } from "./stage.ts";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => undefined;

/** x feeds a chain in two kernels, and its end. */
const NODES = [
  { label: "x", kind: "param" as const },
  ...Array.from({ length: 6 }, (_, i) => ({ label: "nn.conv2d_transpose", inputs: [i], group: i < 3 ? 0 : 1 })),
  { label: "add", inputs: [6, 0] },
];
const KERNELS = [
  { kind: "primitive" as const, name: "fused_first" },
  { kind: "primitive" as const, name: "fused_second" },
];

test("a label of an edge covers no node and no group's name", async () => {
  const stage = new Stage(paperRuler(undefined));
  await stage.setPicture(single(graph(NODES, KERNELS)));
  stage.select([0, 3, 7]);
  const { scene, ruler } = stage;
  assert.ok(scene);
  stage.camera = { x: scene.width / 2, y: scene.height / 2, scale: 1 };
  stage.progress = 1;
  const frame = stage.frameFor({ width: scene.width, height: scene.height }, PAPER, 1);
  assert.ok(frame);
  const pen = new StrokePen(0, 0);
  paint(pen, 1, frame);
  const labels = pen.drawn.filter((each): each is Words => "text" in each && each.align === "center");
  assert.ok(labels.length >= 4, `${labels.length} labels`);
  for (const { text, x, y, size } of labels) {
    const [w, h] = [ruler.width(text, size) / 2 + 4, size * 0.8];
    const meets = (left: number, top: number, right: number, bottom: number) =>
      x - w < right && x + w > left && y - h < bottom && y + h > top;
    for (let i = 0; i < scene.visible.count; i++) {
      const [across, down] = [scene.size.width[i] / 2, scene.size.height[i] / 2];
      const [cx, cy] = [sx(frame, scene.x[i]), sy(frame, scene.y[i])];
      assert.ok(!meets(cx - across, cy - down, cx + across, cy + down), `${text} is on item ${i}`);
    }
    for (let g = 0; g < scene.visible.open.length; g++) {
      const [left, top, width] = scene.sideBox(1).subarray(4 * g, 4 * g + 3);
      const [gx, gy] = [sx(frame, left), sy(frame, top)];
      assert.ok(!meets(gx, gy, gx + width, gy + 20), `${text} is on the name of a kernel`);
    }
  }
});

test("one data type, several, none", () => {
  assert.equal(edgeDtype("Tensor[(1, 64), int8]"), "int8");
  assert.equal(edgeDtype("(Tensor[(1), int8], Tensor[(2), int8])"), "int8");
  assert.equal(edgeDtype("(Tensor[(1), int8], Tensor[(2), int32])"), "mixed");
  assert.equal(edgeDtype("fn ()"), "");
});
