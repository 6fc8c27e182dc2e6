/** What tests and benchmarks read in the page, on a view's root element; nothing in the product reads it. */
import { toScreen } from "../render/camera.ts";
import { type Stage } from "../render/stage.ts";

export interface Probed extends HTMLElement {
  /** Frames painted so far. */
  readonly frames: number;
  /** Of each node that is drawn as itself on a side: id, x, y of its centre, width; in CSS pixels of the pane. */
  places(side: 0 | 1): number[][];
}

/** Keeps `data-scenes`, the number of arrangements that have come onto the screen, and defines `frames` and `places`. */
export function probe(root: HTMLElement, stage: Stage): void {
  let [frames, scenes, shown] = [0, 0, 0];
  stage.events.on("scene", () => { scenes++; });
  stage.events.on("painted", () => {
    frames++;
    if (stage.view.width === 0 || shown === scenes) return;
    shown = scenes;
    root.dataset.scenes = String(shown);
  });
  Object.defineProperties(root, {
    frames: { get: () => frames },
    places: { value: (side: 0 | 1) => places(stage, side) },
  });
}

function places(stage: Stage, side: 0 | 1): number[][] {
  const { scene, picture, camera, view } = stage;
  const rows: number[][] = [];
  if (!scene) return rows;
  picture.node[side].forEach((u, id) => {
    const item = u < 0 ? -1 : scene.visible.itemOf[u];
    if (item < 0 || scene.visible.node[item] !== u) return;
    rows.push([id, ...toScreen(camera, view, scene.x[item], scene.y[item]), scene.size.width[item] * camera.scale]);
  });
  return rows;
}
