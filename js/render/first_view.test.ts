import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, type Picture, single } from "../graph/picture.ts";
import { diff, type GroupSpec, graph, type NodeSpec, unchanged } from "../graph/testing.ts";
import { type Camera, type Size, WHOLE_SCALE } from "./camera.ts";
import { paperRuler } from "./paper.ts";
import { around, type Scene } from "./scene.ts";
import { Stage } from "./stage.ts";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => undefined;
// The camera jumps: nothing glides where a reader asks for less motion.
globalThis.matchMedia = (() => ({ matches: true })) as never;

/** Small print is readable from here on. */
const READING_SCALE = 0.8;
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

const paired = (count: number) => Array.from({ length: count }, (_, i): [number, number] => [i, i]);

function changedAt(place: number, length = 200): Picture {
  const chain = (middle: string) =>
    graph(
      Array.from({ length }, (_, i) => ({ label: i === place ? middle : "nn.relu", inputs: i === 0 ? [] : [i - 1] })),
    );
  const marks = Array.from({ length }, (_, i) => (i === place ? "changed" : "kept"));
  return compare(chain("tanh"), chain("sigmoid"), diff(marks, marks, paired(length)));
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

test("in a comparison, layers without a change are closed and those with one are open", async () => {
  const [nodes, groups] = layered(8, 12);
  const changed = nodes.map((node, i) => (i === 40 ? { ...node, label: "tanh" } : node));
  const marks = nodes.map((_, i) => (i === 40 ? "changed" : "kept"));
  const difference = diff(marks, marks, paired(nodes.length));
  const stage = await opened(compare(graph(nodes, groups), graph(changed, groups), difference), LAPTOP);
  assert.equal(stage.options.collapsed.size, 7);
  assert.ok(!stage.options.collapsed.has(3));
  assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[40] ?? -1));
});

test("a comparison of two groupings opens on the first group that only one side has", async () => {
  const chain = Array.from({ length: 150 }, (_, i): NodeSpec => ({ label: "nn.relu", inputs: i === 0 ? [] : [i - 1] }));
  const fused = chain.map((node, i) => (i >= 100 && i < 103 ? { ...node, group: 0 } : node));
  const picture = compare(graph(chain), graph(fused, "primitive:fused"), unchanged(chain.length));
  const stage = await opened(picture, LAPTOP);
  assert.ok(seen(stage).includes(stage.scene?.visible.itemOf[100] ?? -1));
});

/** A model's nodes and layers, as its calls name them. */
class Model {
  readonly nodes: NodeSpec[] = [];
  readonly layers: string[] = [];

  constructor(private readonly dialect: "relay" | "relax") {}

  input(name = "input"): number {
    return this.nodes.push({ label: name, kind: "param" }) - 1;
  }

  op(label: string, inputs: number[], layer = ""): number {
    const weights = /conv2d|dense/.test(label) ? [this.input("weight")] : [];
    if (layer && !this.layers.includes(layer)) this.layers.push(layer);
    const named = this.dialect === "relay" && weights.length > 0 ? `nn.contrib_${label}_NCHWc` : label;
    const group = layer ? { group: this.layers.indexOf(layer) } : {};
    return this.nodes.push({ label: named, inputs: [...inputs, ...weights], ...group }) - 1;
  }

  chain(length: number, from: number, layer: (i: number) => string, ops = ["conv2d", "add", "relu"]): number {
    let last = from;
    for (let i = 0; i < length; i++) last = this.op(ops[i % ops.length], [last], layer(i));
    return last;
  }

  attention(from: number, layer: string, read = from): number {
    const [q, k, v] = [from, read, read].map((x) => this.op("transpose", [this.op("dense", [x], layer)], layer));
    const scores = this.op("softmax", [this.op("matmul", [q, k], layer)], layer);
    return this.chain(4, this.op("add", [from, this.op("matmul", [scores, v], layer)], layer), () => layer);
  }
}

const none = () => "";
const MODELS: Record<string, (m: Model) => void> = {
  chain: (m) => m.chain(120, m.input(), (i) => `layer_${Math.floor(i / 3)}`),
  towers: (m) => {
    const x = m.input();
    m.op(
      "concatenate",
      [0, 1, 2].map((t) => m.chain(24, x, () => `tower_${t}`)),
    );
  },
  "wide heads": (m) => {
    const x = m.chain(3, m.input(), () => "stem");
    m.op(
      "concatenate",
      Array.from({ length: 24 }, (_, i) => m.chain(6, x, () => `head_${i}`)),
    );
  },
  "two inputs": (m) => {
    const [a, b] = [m.chain(18, m.input("user"), none), m.chain(18, m.input("item"), none)];
    m.chain(12, m.op("concatenate", [a, b]), none);
  },
  residual: (m) => {
    let x = m.chain(3, m.input(), () => "stem");
    for (let i = 0; i < 12; i++) x = m.op("add", [x, m.chain(6, x, () => `block_${i}`)], `block_${i}`);
  },
  attention: (m) => {
    for (let i = 0, x = m.input(); i < 4; i++) x = m.attention(x, `layer_${i}`);
  },
  "encoder and decoder": (m) => {
    let [x, y] = [m.input("source"), m.input("target")];
    for (let i = 0; i < 3; i++) x = m.attention(x, `encoder_${i}`);
    for (let i = 0; i < 3; i++) y = m.attention(m.attention(y, `decoder_${i}`), `decoder_${i}`, x);
  },
  "one huge layer": (m) => {
    const live = [m.input()];
    for (let i = 0; i < 150; i++)
      live.push(
        m.op(
          "add",
          [1, 3].map((d) => live[Math.max(0, i - ((i * d) % 5))]),
          "all",
        ),
      );
  },
  "a chain of 1,000": (m) => m.chain(1000, m.input(), none, ["relu", "tanh"]),
  "many outputs": (m) => {
    for (let i = 0, x = m.chain(1, m.input(), none); i < 30; i++) {
      if (i % 6 === 5) x = m.op("tanh", [x]);
      m.op("exp", [x]);
    }
  },
};

/** Panes of a GraphView, of CompareView's halves and of the Workbench's, in windows of 1280x800, 1920x1080 and 900x700. */
const PANES = ["1098x520 549x492 401x450", "1738x520 869x492 599x697", "718x520 359x492 223x324"];

/** Boxes that are cut, and the share of the pane, or of what is drawn near it, that the whole ones span: the least of both sides. */
function measured({ scene, camera, view }: Stage): { cut: number; share: number } {
  assert.ok(scene);
  const { visible, size } = scene;
  const half = { x: view.width / camera.scale / 2, y: view.height / camera.scale / 2 };
  let [cut, share] = [0, 1];
  for (const side of visible.picture.compares ? [1, 2] : [1]) {
    const drawn = Array.from({ length: visible.count }, (_, i) => i).filter((i) => visible.side[i] & side);
    const beyond = (i: number, axis: "x" | "y", out: 1 | -1, far = 1) =>
      Math.abs(scene[axis][i] - camera[axis]) + out * (axis === "x" ? size.width[i] : size.height[i]) * 0.5 >
      half[axis] * far;
    const whole = drawn.filter((i) => !beyond(i, "x", 1) && !beyond(i, "y", 1));
    cut += drawn.filter((i) => !whole.includes(i) && !beyond(i, "x", -1) && !beyond(i, "y", -1)).length;
    const near = drawn.filter((i) => !beyond(i, "x", -1, 2) && !beyond(i, "y", -1));
    const [spanned, there] = [around(scene, whole), around(scene, near)];
    assert.ok(spanned && there);
    const across = spanned.width / Math.min(2 * half.x, there.width);
    share = Math.min(share, (across * spanned.height) / Math.min(2 * half.y, there.height));
  }
  return { cut, share };
}

for (const dialect of ["relay", "relax"] as const)
  for (const [name, build] of Object.entries(MODELS))
    test(`the first view cuts nothing and fills its pane: ${name}, ${dialect}`, async () => {
      const model = new Model(dialect);
      build(model);
      const groups = model.layers.map((layer): GroupSpec => ({ kind: "scope", name: layer }));
      const before = graph(model.nodes, groups);
      // Every operator has another name, and those of a kernel are in one.
      const kernels = model.nodes.map((node, i) =>
        node.kind ? node : { ...node, label: `fused_${node.label}`, group: model.layers.length + Math.floor(i / 4) },
      );
      const fused: GroupSpec[] = Array.from({ length: Math.ceil(kernels.length / 4) }, (_, i) => {
        const scope = model.nodes.slice(4 * i, 4 * i + 4).find((node) => node.group !== undefined)?.group;
        return { kind: "primitive", name: `kernel_${i}`, ...(scope === undefined ? {} : { parent: scope }) };
      });
      const marks = model.nodes.map((node) => (node.kind ? "kept" : "changed"));
      const changes = diff(marks, marks, paired(marks.length));
      const pair = () => compare(before, graph(kernels, [...groups, ...fused]), changes);
      for (const panes of PANES)
        for (const [i, pane] of panes.split(" ").entries()) {
          const [width, height] = pane.split("x").map(Number);
          const stage = await opened(i === 0 ? single(before) : pair(), { width, height });
          const { cut, share } = measured(stage);
          const whole = seen(stage).length === stage.scene?.visible.count;
          assert.ok(
            cut === 0 && (whole || share >= 0.5),
            `${width}x${height}: ${cut} cut, ${share.toFixed(2)} covered`,
          );
        }
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
