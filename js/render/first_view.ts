/** Where a reader begins. */
import { Kind } from "../graph/payload.ts";
import { sideOf } from "../graph/picture.ts";
import { opening, type Box, type Camera, type Size } from "./camera.ts";
import { type Scene } from "./scene.ts";

export function extent(scene: Scene): Box {
  return { x: 0, y: 0, width: scene.width, height: scene.height };
}

export function openingCamera(scene: Scene, view: Size): Camera {
  return scene.turned ? openingRight(scene, view) : openingDown(scene, view);
}

/** The same with its axes swapped. */
function openingRight(scene: Scene, view: Size): Camera {
  const first = firstInput(scene);
  const start = first >= 0 ? { x: scene.y[first], y: scene.x[first] - scene.size.width[first] / 2 } : { x: scene.height / 2, y: 0 };
  const begins = (length: number): [number, number] => {
    let [top, bottom] = [Infinity, -Infinity];
    scene.items.query(start.y, 0, start.y + length, scene.height, (i) => {
      top = Math.min(top, scene.y[i] - scene.size.height[i] / 2);
      bottom = Math.max(bottom, scene.y[i] + scene.size.height[i] / 2);
    });
    return top <= bottom ? [top, bottom] : [0, scene.height];
  };
  const { x, y, scale } = opening({ x: 0, y: 0, width: scene.height, height: scene.width }, { width: view.height, height: view.width }, begins, start);
  return { x: y, y: x, scale };
}

function openingDown(scene: Scene, view: Size): Camera {
  const first = firstInput(scene);
  const start = first >= 0 ? { x: scene.x[first], y: scene.y[first] - scene.size.height[first] / 2 } : { x: scene.width / 2, y: 0 };
  const begins = (height: number): [number, number] => {
    let [left, right] = [Infinity, -Infinity];
    scene.items.query(0, start.y, scene.width, start.y + height, (i) => {
      left = Math.min(left, scene.x[i] - scene.size.width[i] / 2);
      right = Math.max(right, scene.x[i] + scene.size.width[i] / 2);
    });
    return left <= right ? [left, right] : [0, scene.width];
  };
  return opening(extent(scene), view, begins, start);
}

/** The first parameter of the function that is drawn: by custom the data, where a reader begins. Weights may be higher up. */
function firstInput(scene: Scene): number {
  const { picture } = scene.visible;
  for (let u = 0; u < picture.nodeCount; u++) {
    const s = sideOf(picture, u, 0);
    const item = scene.visible.itemOf[u];
    const own = item >= 0 && scene.visible.node[item] === u;
    if (own && picture.sides[s].kind[picture.id[s][u]] === Kind.param) return item;
  }
  return -1;
}

/** Whether two cameras show nearly the same. */
export function near(a: Camera, b: Camera, view: Size): boolean {
  const grown = a.scale / b.scale;
  return grown < 1.1 && grown > 0.9 && Math.abs(a.x - b.x) * b.scale < view.width * 0.06 && Math.abs(a.y - b.y) * b.scale < view.height * 0.03;
}
