import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, type Picture, single } from "../graph/picture.ts";
import { diff, type GroupSpec, graph, type NodeSpec } from "../graph/testing.ts";
import { type Camera, READING_SCALE, type Size, WHOLE_SCALE } from "./camera.ts";
import { paperRuler } from "./paper.ts";
import { type Scene } from "./scene.ts";
import { Stage } from "./stage.ts";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => undefined;
// The camera jumps: nothing glides where a reader asks for less motion.
globalThis.matchMedia = (() => ({ matches: true })) as never;

const LAPTOP = { width: 1280, height: 520 };
const NARROW = { width: 230, height: 420 };

/** Layers of some operators each, one after the other. */
function layered(layers: number, each: number, scoped = true): [NodeSpec[], GroupSpec[]] {
  const nodes: NodeSpec[] = [{ label: "x", kind: "param" }];
  for (let i = 0; i < layers * each; i++)
    nodes.push({ label: "nn.relu", inputs: [i], ...(scoped ? { group: Math.floor(i / each) } : {}) });
  const groups = Array.from({ length: layers }, (_, i): GroupSpec => ({ kind: "scope", name: `layer_${i}` }));
  return [nodes, scoped ? groups : []];
}

async function opened(picture: Picture, view: Size, direction: "down" | "right" = "down"): Promise<Stage> {
  const stage = new Stage(paperRuler(undefined));
  stage.direction = direction;
  stage.resize(view);
  await stage.setPicture(picture);
  return stage;
}

/** Items that are wholly in view. */
function inView(scene: Scene, view: Size, { x, y, scale }: Camera): number[] {
  return Array.from({ length: scene.visible.count }, (_, i) => i).filter(
    (i) =>
      Math.abs(scene.x[i] - x) <= view.width / 2 / scale - scene.size.width[i] / 2 &&
      Math.abs(scene.y[i] - y) <= view.height / 2 / scale - scene.size.height[i] / 2,
  );
}

function seen(stage: Stage): number[] {
  assert.ok(stage.scene);
  return inView(stage.scene, stage.view, stage.camera);
}

test("a small graph opens whole", async () => {
  const stage = await opened(single(graph(...layered(1, 3))), LAPTOP);
  assert.equal(seen(stage).length, stage.scene?.visible.count);
  assert.equal(stage.options.collapsed.size, 0);
});

test("a model larger than its pane opens with its layers closed, and fitted", async () => {
  const stage = await opened(single(graph(...layered(7, 12))), LAPTOP);
  assert.equal(stage.options.collapsed.size, 7);
  assert.equal(seen(stage).length, 8);
  assert.ok(stage.camera.scale >= WHOLE_SCALE);
});

test("the layers also close where the pane gets its size after the picture", async () => {
  const stage = new Stage(paperRuler(undefined));
  await stage.setPicture(single(graph(...layered(7, 12))));
  const scenes: Scene[] = [];
  stage.events.on("scene", (scene) => scenes.push(scene));
  stage.resize(LAPTOP);
  while (scenes.length === 0) await new Promise((done) => setTimeout(done, 1));
  assert.equal(stage.options.collapsed.size, 7);
});

test("a single layer around everything stays open", async () => {
  const [nodes, groups] = layered(6, 12);
  const outer = [...groups.map((g) => ({ ...g, parent: 6 })), { kind: "scope", name: "model" } as const];
  const stage = await opened(single(graph(nodes, outer)), LAPTOP);
  const closed = [...stage.options.collapsed].map((g) => stage.picture.groups.name[g]);
  assert.deepEqual(closed.sort(), groups.map((group) => group.name).sort());
});

for (const direction of ["down", "right"] as const)
  test(`a chain that cannot be read whole opens at its beginning, ${direction}`, async () => {
    const stage = await opened(single(graph(...layered(1, 200, false))), LAPTOP, direction);
    assert.ok(stage.camera.scale >= READING_SCALE);
    assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[0] ?? -1));
    assert.ok(seen(stage).length >= 6);
  });

test("a lone input beside an empty area is not the first view", async () => {
  // One input feeds the end of a deep graph only; the rest is far from it.
  const chain: NodeSpec[] = [{ label: "x", kind: "param" }];
  for (let lane = 0; lane < 40; lane++)
    for (let i = 0; i < 12; i++) chain.push({ label: "nn.conv2d", inputs: i === 0 ? [0] : [chain.length - 1] });
  const stage = await opened(single(graph(chain)), LAPTOP);
  assert.ok(seen(stage).length >= 6, `${seen(stage).length} nodes in view`);
});

function changedAt(place: number, length = 200): Picture {
  const chain = (middle: string) =>
    graph(
      Array.from({ length }, (_, i) => ({ label: i === place ? middle : "nn.relu", inputs: i === 0 ? [] : [i - 1] })),
    );
  const marks = Array.from({ length }, (_, i) => (i === place ? "changed" : "kept")) as ("changed" | "kept")[];
  return compare(
    chain("tanh"),
    chain("sigmoid"),
    diff(
      marks,
      marks,
      marks.map((_, i) => [i, i]),
    ),
  );
}

for (const [name, view] of [
  ["a laptop's half", { width: 640, height: 520 }],
  ["a narrow column", NARROW],
] as const)
  test(`a comparison opens on its first change with its neighbours, in ${name}`, async () => {
    const stage = await opened(changedAt(120), view);
    const items = [119, 120, 121].map((u) => stage.scene?.visible.itemOf[u] ?? -1);
    assert.ok(items.every((i) => seen(stage).includes(i)));
    assert.ok(stage.camera.scale >= READING_SCALE);
  });

test("a comparison of narrow panes opens where a change can be read in both", async () => {
  // As LegalizeOps of Relax does it: the topmost change is a shape that goes, far to the right of its reader.
  const wide = "backbone.stage.block.convolution.bias";
  const made = (op: string, shapes: boolean): NodeSpec[] => {
    const nodes: NodeSpec[] = [{ label: "x", kind: "param" }];
    for (let i = 0, last = 0; i < 40; i++) {
      const bias = nodes.push({ label: wide, kind: "param" }) - 1;
      if (shapes) nodes.push({ label: "shape([1, 16, 1, 1])", kind: "shape" });
      nodes.push({ label: op, inputs: shapes ? [bias, nodes.length - 1] : [bias] });
      nodes.push({ label: "conv2d", inputs: [last] });
      last = nodes.push({ label: "add", inputs: [nodes.length - 1, nodes.length - 2] }) - 1;
    }
    return nodes;
  };
  const [a, b] = [made("reshape", true), made("reshape1", false)];
  const mark = (node: NodeSpec) => (node.kind === "shape" ? "removed" : node.kind === "param" ? "kept" : "changed");
  const kept = a.flatMap((node, i) => (node.kind === "shape" ? [] : [i]));
  const pairs = b.map((_, i): [number, number] => [kept[i], i]);
  const stage = await opened(compare(graph(a), graph(b), diff(a.map(mark), b.map(mark), pairs)), {
    width: 290,
    height: 520,
  });
  const both = seen(stage).filter((i) => stage.scene?.visible.side[i] === 3);
  assert.ok(both.length >= 3, `${both.length} of ${seen(stage).length} items in view are in both panes`);
  assert.ok(stage.camera.scale >= WHOLE_SCALE);
});

test("the first view of a change cuts no box that a shift would make whole", async () => {
  const nodes: NodeSpec[] = [{ label: "image", kind: "param" }];
  for (let i = 0, last = 0; i < 40; i++) {
    const bias = nodes.push({ label: "reshape", inputs: [], type: "Tensor[(1, 8, 1, 1), float32]" }) - 1;
    const conv = nodes.push({ label: "nn.conv2d_with_a_long_name", inputs: [last] }) - 1;
    last = nodes.push({ label: "add", inputs: [conv, bias] }) - 1;
  }
  const marks = nodes.map((_, i) => (i % 3 === 1 ? "changed" : "kept")) as ("changed" | "kept")[];
  const pairs = nodes.map((_, i): [number, number] => [i, i]);
  for (const width of [300, 360, 420, 480]) {
    const view = { width, height: 520 };
    const stage = await opened(compare(graph(nodes), graph(nodes), diff(marks, marks, pairs)), view);
    const { scene, camera } = stage;
    assert.ok(scene);
    const change = seen(stage).find((i) => marks[scene.visible.node[i]] === "changed") ?? -1;
    assert.ok(change >= 0);
    const kept = [change, ...scene.edgesOf(change).map((e) => scene.visible.target[e])].filter((i) =>
      seen(stage).includes(i),
    );
    for (let shift = -200; shift <= 200; shift += 4) {
      const shifted = inView(scene, view, { ...camera, x: camera.x + shift });
      const loses = kept.some((i) => !shifted.includes(i));
      assert.ok(loses || shifted.length <= seen(stage).length, `${shift} at ${width}`);
    }
  }
});

test("in a comparison, layers without a change are closed and those with one are open", async () => {
  const [nodes, groups] = layered(8, 12);
  const changed = nodes.map((node, i) => (i === 40 ? { ...node, label: "tanh" } : node));
  const marks = nodes.map((_, i) => (i === 40 ? "changed" : "kept")) as ("changed" | "kept")[];
  const pairs = nodes.map((_, i): [number, number] => [i, i]);
  const stage = await opened(compare(graph(nodes, groups), graph(changed, groups), diff(marks, marks, pairs)), LAPTOP);
  assert.equal(stage.options.collapsed.size, 7);
  assert.ok(!stage.options.collapsed.has(3));
  assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[40] ?? -1));
});

test("a comparison of two groupings opens on the first group that only one side has", async () => {
  const chain = Array.from({ length: 150 }, (_, i): NodeSpec => ({ label: "nn.relu", inputs: i === 0 ? [] : [i - 1] }));
  const fused = chain.map((node, i) => (i >= 100 && i < 103 ? { ...node, group: 0 } : node));
  const kept = chain.map(() => "kept" as const);
  const picture = compare(
    graph(chain),
    graph(fused, [{ kind: "primitive", name: "fused" }]),
    diff(
      kept,
      kept,
      chain.map((_, i) => [i, i]),
    ),
  );
  const stage = await opened(picture, LAPTOP);
  assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[100] ?? -1));
});

test("a pane of another size is fitted again, until the camera is moved by hand", async () => {
  const stage = await opened(single(graph(...layered(1, 6, false))), { width: 640, height: 700 });
  stage.resize({ width: 640, height: 500 });
  assert.equal(seen(stage).length, stage.scene?.visible.count);
  stage.fit();
  stage.resize({ width: 300, height: 400 });
  assert.equal(seen(stage).length, stage.scene?.visible.count);
  stage.pan(10, 0);
  const { camera } = stage;
  stage.resize({ width: 200, height: 300 });
  assert.deepEqual(stage.camera, camera);
});

test("a selection that code sets is brought into view", async () => {
  const stage = await opened(single(graph(...layered(1, 200, false))), LAPTOP);
  stage.choose([150]);
  assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[150] ?? -1));
  const { camera } = stage;
  stage.choose([151]);
  assert.deepEqual(stage.camera, camera, "it is in view already");
  const late = new Stage(paperRuler(undefined));
  const ready = late.setPicture(single(graph(...layered(1, 200, false))));
  late.choose([150]);
  late.resize(LAPTOP);
  await ready;
  assert.ok(seen(late).includes(late.scene?.visible.itemOf[150] ?? -1));
});

test("a toggle keeps the scale, and moves the view only where no change is in it", async () => {
  const stage = await opened(changedAt(20), LAPTOP);
  const { scale, x } = stage.camera;
  await stage.setPicture(changedAt(21));
  assert.deepEqual([stage.camera.scale, stage.camera.x], [scale, x]);
  await stage.setPicture(changedAt(150));
  assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[150] ?? -1));
  assert.ok(stage.camera.scale >= READING_SCALE);
});

test("a layout that throws is reported, and the next picture draws again", async () => {
  const stage = new Stage(paperRuler(undefined));
  const failures: (Error | null)[] = [];
  stage.events.on("failed", (error) => failures.push(error));
  const { width } = stage.ruler;
  stage.ruler.width = () => {
    throw new Error("no room");
  };
  await stage.setPicture(single(graph(...layered(1, 3))));
  assert.equal(failures.at(-1)?.message, "no room");
  stage.ruler.width = width;
  await stage.setPicture(single(graph(...layered(1, 4))));
  assert.equal(failures.at(-1), null);
  assert.equal(stage.scene?.visible.count, 5);
});

test("a new picture reads a large selection once", async () => {
  const [nodes] = layered(1, 300, false);
  const stage = await opened(single(graph(nodes)), LAPTOP);
  const selection = nodes.map((_, i) => i);
  let reads = 0;
  stage.selection = new Proxy(selection, {
    get(target, name, self) {
      if (typeof name === "string" && /^\d+$/.test(name)) reads++;
      return Reflect.get(target, name, self);
    },
  });
  await stage.setPicture(single(graph(nodes)));
  assert.deepEqual(stage.selection, selection);
  assert.ok(reads <= 4 * selection.length, `${reads} reads`);
});
