import assert from "node:assert/strict";
import test from "node:test";
import { carry } from "../graph/carry.ts";
import { compare, type Picture, single } from "../graph/picture.ts";
import { castPicture, diff, graph } from "../graph/testing.ts";
import { DEFAULT_OPTIONS, visible } from "../graph/visible.ts";
import { layout } from "../layout/compound.ts";
import { contentOf, sizes } from "./content.ts";
import { hit } from "./hit.ts";
import { inItems, PLAIN, readNotes } from "./look.ts";
import { earlier, moved } from "./motion.ts";
import { readOverlay } from "./overlay.ts";
import { layoutInput, ownSlots, sharedSlots } from "./question.ts";
import { buildScene, type Scene } from "./scene.ts";
import { Ruler } from "./text.ts";

const ruler = new Ruler(() => 0.55);

function arrange(picture: Picture, apart = false, collapsed = new Set<number>()) {
  const shown = visible(picture, { ...DEFAULT_OPTIONS, collapsed });
  const size = sizes(shown, ruler);
  const slots = picture.compares && !apart ? sharedSlots(shown) : ownSlots(shown);
  const question = layoutInput(shown, size, ruler, slots, undefined);
  return buildScene(shown, size, question, layout(question.input));
}

test("edges start at their source's border and end at their target's", () => {
  const scene = arrange(castPicture());
  for (let e = 0; e < scene.visible.edgeCount; e++) {
    const [s, t] = [scene.visible.source[e], scene.visible.target[e]];
    const [p, q] = [2 * scene.pointOffset[e], 2 * scene.pointOffset[e + 1] - 2];
    assert.ok(Math.abs(scene.points[p + 1] - (scene.y[s] + scene.size.height[s] / 2)) < 0.01);
    assert.ok(Math.abs(scene.points[q + 1] - (scene.y[t] - scene.size.height[t] / 2)) < 0.01);
  }
});

test("what was removed and what replaced it share a place, but not in the overlay", () => {
  const [before, after] = [graph("a | batch_norm 0 | c 1"), graph("a | add 0 | c 1")];
  const picture = compare(before, after, diff("kept removed kept", "kept added kept", "0-0 2-2"));
  const beside = arrange(picture);
  assert.equal(beside.x[1], beside.x[3]);
  assert.equal(beside.y[1], beside.y[3]);
  const over = arrange(picture, true);
  assert.ok(over.x[1] !== over.x[3] || over.y[1] !== over.y[3]);
});

test("a kept node has room for the words of both sides, and for their badges", () => {
  const make = (weight: string, attrs: object) =>
    graph([
      { label: "x", kind: "param" },
      { label: weight, kind: "constant", type: "float32" },
      { label: "exp", attrs, inputs: [0, 1] },
    ]);
  const [short, long] = [make("1f", {}), make("1f", { axes: [1234567, 2345678, 3456789] })];
  const badge = make("1.23456789012345678901234567f", {});
  const kept = diff("kept kept kept", "kept kept kept", "0-0 1-1 2-2");
  const width = (picture: Picture) => arrange(picture).size.width[1];
  const alone = width(single(short));
  assert.equal(width(compare(short, make("1f", {}), kept)), alone);
  for (const other of [long, badge]) {
    assert.ok(width(single(other)) > alone);
    for (const pair of [[short, other] as const, [other, short] as const])
      assert.equal(width(compare(...pair, kept)), width(single(other)));
  }
});

test("past a node that only the other pane shows, an edge runs straight", () => {
  const before = graph("a | multiply 0 | c 1");
  const after = graph("a | c 0");
  const scene = arrange(compare(before, after, diff("kept removed kept", "kept kept", "0-0 2-1")));
  const e = [...scene.visible.edgeSide].indexOf(2);
  assert.equal(scene.pointOffset[e + 1] - scene.pointOffset[e], 2);
  assert.equal(scene.points[2 * scene.pointOffset[e]], scene.points[2 * scene.pointOffset[e] + 2]);
});

test("a kernel's box is drawn around its own side's ops only", () => {
  const scene = arrange(castPicture());
  assert.ok(scene.sideBox(2)[2] < scene.groupBox[2]);
  assert.ok(scene.sideBox(2)[2] > 0);
});

test("pointing at a node finds it, on its own side only", () => {
  const scene = arrange(castPicture());
  const camera = { x: scene.x[3], y: scene.y[3], scale: 1 };
  const view = { width: 200, height: 200 };
  const item = (sides: number) => hit({ scene, camera, view, sides, ruler }, 100, 100).item;
  assert.equal(item(1), 3);
  assert.notEqual(item(2), 3);
});

test("the same graph again moves nothing, and a graph with one op more keeps the rest together", () => {
  const nodes = "x:param | a 0 | b 1";
  const [first, again] = [single(graph(nodes)), single(graph(nodes))];
  const [old, next] = [arrange(first), arrange(again)];
  const was = earlier(old, next, carry(first, again).nodes);
  for (let i = 0; i < 3; i++) assert.deepEqual(moved(next, was, i), [0, 0]);
  const more = single(graph(`${nodes} | c 2`));
  assert.deepEqual([...carry(first, more).nodes], [0, 1, 2, -1]);
});

test("measured values lie on nodes and on kernels' boxes of their own side, on one scale; a collapsed kernel keeps its value", () => {
  const picture = castPicture();
  const [, after] = picture.sides;
  const kernel = picture.groups.id[1].findIndex((id) => id >= 0);
  const place = picture.groups.id[1][kernel];
  const inside = after.group.indexOf(place);
  const overlay = readOverlay({
    title: "time",
    unit: "µs",
    values: { 0: 2 },
    after: { values: { 0: 5 }, groups: { [after.groupId[place]]: [9, inside] } },
  });
  const chosen = { selection: [], hoveredNode: -1, found: null, overlay, notes: null };
  const open = inItems(PLAIN, arrange(picture), chosen);
  assert.deepEqual([open.overlay!.low, open.overlay!.high], [2, 9]);
  assert.deepEqual([...open.values[0].items.values()], [2]);
  assert.deepEqual([...open.values[1].items.values()], [5]);
  assert.deepEqual([...open.values[1].groups], [[kernel, 9]]);
  const closed = inItems(PLAIN, arrange(picture, false, new Set([kernel])), chosen);
  assert.deepEqual([...closed.values[1].items.values()], [5, 9]);
  assert.equal(closed.values[1].groups.size, 0);
  assert.equal(inItems(PLAIN, arrange(picture), { ...chosen, overlay: readOverlay({}) }).overlay, null);
});

/** The colours of values of edges, as "source-target-value". */
function coloursOf(scene: Scene, values: string) {
  const edges = values.split(" ").map((each) => each.split("-").map(Number) as [number, number, number]);
  const notes = readNotes({ edges: { title: "bytes", unit: "B", edges } });
  return inItems(PLAIN, scene, { selection: [], hoveredNode: -1, found: null, overlay: null, notes }).notes?.colours;
}

test("values of edges are on one scale; those between two closed groups are one edge with their sum", () => {
  const picture = single(graph("x:param | a 0 | b 1 | c 2"));
  const scene = arrange(picture);
  const found = coloursOf(scene, "1-2-4 2-3-8 1-2-4 0-3-99 7-8-1");
  const named = [...(found?.at ?? [])].map(([e, t]) => [scene.visible.source[e], scene.visible.target[e], t]);
  // 4 and 4 are one edge; 0 to 3 and 7 to 8 are not drawn
  assert.deepEqual(named, [
    [1, 2, 1],
    [2, 3, 1],
  ]);
  assert.deepEqual([found?.low, found?.high], [8, 8]);
});

test("values of edges that are not drawn give no scale", () => {
  const scene = arrange(single(graph("x:param | a 0")));
  assert.equal(coloursOf(scene, "5-6-1 0-1-NaN"), null);
});

test("a box is wide enough for the name of an operator, but not for any name", () => {
  const names = ["contrib_conv2d_NCHWc + 2 of a few more", "x".repeat(400)];
  const { size } = arrange(single(graph(names.map((label) => ({ label })))));
  assert.ok(size.width[0] > ruler.width(names[0], 13, true));
  assert.ok(size.width[1] <= 340);
});

test("a closed group has its operators, or its calls where it has none, as in a graph of kernels", () => {
  const lineOf = (kinds: ("op" | "call")[]) => {
    const nodes = kinds.map((kind) => ({ label: "conv2d", kind, group: 0 }));
    const picture = single(graph(nodes, "scope:layer"));
    return contentOf(visible(picture, { ...DEFAULT_OPTIONS, collapsed: new Set([0]) }), 0, 0).lines[0];
  };
  assert.equal(lineOf(["op", "call"]), "1 op: conv2d");
  assert.equal(lineOf(["call", "call"]), "2 calls: conv2d ×2");
});
