// How far nodes move from one step of a pipeline to the next, through the view's own stage: places, camera and all.
//   node steps.mjs FILE   (FILE: a JSON list of {name, before, after, diff}, columns as base64; benchmarks/stability.py writes it)
// Prints one JSON line a step: the median move of all nodes that are in both, and of those in view, in widths of the node.
import { readFileSync } from "node:fs";
import { loadStage } from "./stage.mjs";

// The stage asks for frames; here the clock is set to a glide's end instead.
globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => undefined;
const { Stage, Ruler, compare, decode, readDiff, toScreen } = await loadStage();
const VIEW = { width: 760, height: 700 }, MUCH_LATER = 1e12;

function places({ scene, picture, camera, view }, side) {
  const rows = new Map();
  picture.node[side].forEach((u, id) => {
    const item = u < 0 ? -1 : scene.visible.itemOf[u];
    if (item >= 0 && scene.visible.node[item] === u) rows.set(id, [...toScreen(camera, view, scene.x[item], scene.y[item]), scene.size.width[item] * camera.scale]);
  });
  return rows;
}

const median = (list) => (list.length === 0 ? 0 : list.sort((a, b) => a - b)[list.length >> 1]);
// All letters equally wide: what moves does not depend on a font.
const stage = new Stage(new Ruler(() => 0.56));
stage.resize(VIEW);
let was = null;
for (const { name, before, after, diff } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  await stage.setPicture(compare(decode(before), decode(after), readDiff(diff)));
  // The first frame starts the clock of the glide.
  stage.tick(0);
  stage.tick(MUCH_LATER);
  if (was) {
    const all = [], near = [];
    for (const [id, [x, y, width]] of places(stage, 0)) {
      if (!was.has(id)) continue;
      const [x0, y0] = was.get(id), far = Math.hypot(x - x0, y - y0) / width;
      all.push(far);
      if (x0 > 0 && y0 > 0 && x0 < VIEW.width && y0 < VIEW.height) near.push(far);
    }
    console.log(JSON.stringify({ name, nodes: all.length, all: median(all), near: median(near) }));
  }
  // A camera that no hand has moved goes to the first change where none is in view. That is not a move of nodes.
  stage.setCamera(stage.camera);
  was = places(stage, 1);
}
