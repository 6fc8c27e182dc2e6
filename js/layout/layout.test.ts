import assert from "node:assert/strict";
import { test } from "node:test";
import { LayoutEngine, layout } from "./compound.ts";
import { Builder } from "./testing/builder.ts";
import { collapse } from "./testing/edits.ts";
import { bert, randomDag, resnet } from "./testing/generators.ts";
import { portDisorder, upwardEdges, violations } from "./testing/laws.ts";
import { many } from "./testing/random.ts";

test("an empty picture", () => {
  const result = layout(new Builder().input());
  assert.equal(result.width, 0);
  assert.equal(result.edgeOffset.length, 1);
});

test("a chain is one straight column", () => {
  const b = new Builder();
  for (let i = 0, last = b.node("x"); i < 20; i++) last = b.node(i % 3 ? "add" : "nn.conv2d", -1, [last]);
  const { x, edgePoints } = layout(b.input());
  for (const at of x) assert.ok(Math.abs(at - x[0]) < 0.01);
  assert.equal(edgePoints.length, 4 * b.edgeCount);
});

for (const [name, graph] of [
  ["bert-2", bert({ layers: 2 })],
  ["bert-2 flat", bert({ layers: 2, groups: false })],
  ["resnet-18", resnet()],
] as const)
  test(`${name} obeys every law`, () => {
    const input = graph.input(),
      result = layout(input);
    assert.deepEqual(violations(input, result), []);
    assert.deepEqual(upwardEdges(input, result), []);
    assert.deepEqual(portDisorder(input, result), []);
  });

test("random DAGs with nested groups obey every law", () => {
  for (let seed = 0; seed < many(20, 60); seed++) {
    const graph = randomDag(seed, {
      nodes: 5 + ((seed * 7) % 120),
      groups: seed % 9,
      reach: 3 + (seed % 20),
      scattered: seed % 5 === 4,
    });
    const input = graph.input(),
      result = layout(input);
    assert.deepEqual(violations(input, result), [], `seed ${seed}`);
    assert.deepEqual(portDisorder(input, result), [], `seed ${seed}`);
    if (input.groups.parent.length === 0) assert.deepEqual(upwardEdges(input, result), [], `seed ${seed}`);
  }
});

test("closed groups are nodes like any other, even where closing them makes a cycle", () => {
  for (let seed = 0; seed < 40; seed++) {
    const graph = randomDag(seed, { nodes: 60, groups: 8, scattered: seed % 2 === 0 });
    const input = collapse(graph.input(), (g) => (g + seed) % 3 === 0),
      result = layout(input);
    assert.deepEqual(violations(input, result), [], `seed ${seed}`);
  }
});

test("the laws find what they are for", () => {
  const input = resnet([1]).input(),
    good = layout(input);
  const broken = (change: (result: ReturnType<typeof layout>) => void): string[] => {
    const copy = structuredClone(good);
    change(copy);
    return violations(input, copy);
  };
  assert.deepEqual(violations(input, good), []);
  const faults: [RegExp, (result: typeof good) => void][] = [
    [/overlaps/, ({ x, y }) => void [x, y].map((at) => at.fill(at[0], 1, 2))],
    [/sticks out/, ({ groupBox }) => void groupBox.fill(10, 2, 3)],
    [/does not start at its source/, ({ edgePoints }) => void edgePoints.fill(edgePoints[1] + 9, 1, 2)],
    [/does not end at its target/, ({ edgePoints }) => void edgePoints.fill(0)],
    [/not finite/, ({ x }) => void x.fill(NaN, 0, 1)],
  ];
  for (const [found, change] of faults) assert.match(broken(change).join(), found);
  const b = new Builder(),
    x = b.node("x"),
    y = b.node("y", -1, [x]);
  b.node("z", -1, [x, y]);
  const three = layout(b.input());
  three.edgePoints = Float32Array.from([
    ...three.edgePoints.slice(0, 2 * three.edgeOffset[1]),
    three.x[0],
    three.y[0] + 17,
    three.x[2],
    three.y[2] - 17,
    ...three.edgePoints.slice(2 * three.edgeOffset[2]),
  ]);
  three.edgeOffset = three.edgeOffset.map((at, e) =>
    e < 2 ? at : at - (three.edgeOffset[2] - three.edgeOffset[1] - 2),
  );
  assert.match(violations(b.input(), three).join(), /runs through node 1/);
});

test("a chain of 50,000 nodes and a tower of 1,000 groups need no recursion", () => {
  const chain = new Builder();
  for (let i = 0, last = chain.node("x"); i < 50_000; i++) last = chain.node("add", -1, [last]);
  const { width } = layout(chain.input());
  assert.equal(width, 40);
  const tower = new Builder();
  let group = -1;
  for (let i = 0; i < 1000; i++) group = tower.open("g", group);
  tower.node("z", -1, [tower.node("y", group, [tower.node("x")])]);
  const { x } = layout(tower.input());
  assert.ok(Math.abs(x[0] - x[1]) < 1 && Math.abs(x[1] - x[2]) < 1);
});

test("one mask that feeds 5,000 consumers neither breaks the line nor the bank", () => {
  const b = new Builder(),
    mask = b.node("mask");
  for (let i = 0, last = b.node("x"); i < 5000; i++) last = b.node("add", -1, [last, mask]);
  const input = b.input(),
    result = layout(input);
  assert.deepEqual(violations(input, result), []);
  assert.ok(result.edgePoints.length < 24 * b.edgeCount, "points stay in proportion to edges");
  assert.ok(result.width < 300);
});

test("a deep model does not drift sideways", () => {
  const shallow = layout(bert({ layers: 2 }).input()),
    deep = layout(bert({ layers: 40 }).input());
  assert.ok(deep.width < 1.2 * shallow.width);
});

test("boxes that nothing joins stand in a block, not in a row", () => {
  const b = new Builder();
  for (let i = 0; i < 400; i++) b.node("param");
  const { width, height } = layout(b.input());
  assert.ok(width < 3 * height && height < 3 * width);
});

test("a mistake in the input is one readable sentence", () => {
  const input = resnet([1]).input();
  assert.throws(
    () => layout({ ...input, groups: { ...input.groups, parent: input.groups.parent.map((_, g) => g) } }),
    /a group is inside itself/,
  );
  assert.throws(
    () => layout({ ...input, edges: { ...input.edges, port: new Uint16Array(1) } }),
    /columns of edges differ in length/,
  );
  const bad = resnet([1]).input();
  bad.nodes.group[0] = 99;
  assert.throws(() => layout(bad), /there is no group 99/);
  const sizeless = resnet([1]).input();
  sizeless.nodes.width[3] = NaN;
  assert.throws(() => layout(sizeless), /node 3 has no proper size/);
});

test("levels of a large picture are searched in haste, obey the laws, and are not taken for those of a small one", () => {
  const part = randomDag(7, { nodes: 60, reach: 12 });
  const { source, target } = part.input().edges;
  const b = new Builder();
  const put = (): void => {
    const first = b.nodeCount,
      group = b.open("part");
    for (let n = 0; n < part.nodeCount; n++) b.node(part.labels[n], group);
    for (let e = 0; e < part.edgeCount; e++) b.edge(first + source[e], first + target[e]);
  };
  put();
  const small = b.input();
  for (let n = b.nodeCount, last = -1; n < 70_000; n++) last = b.node("op", -1, last < 0 ? [] : [last]);
  const engine = new LayoutEngine(),
    large = b.input(),
    hasty = engine.layout(large);
  assert.deepEqual(violations(large, hasty), []);
  assert.deepEqual(engine.layout(small), layout(small));
  const width = (picture: { groupBox: Float32Array }): number => picture.groupBox[2];
  assert.notEqual(width(hasty), width(layout(small)), "the search of the large picture was shorter");
});
