/**
 * The bundle of the browser tests and benchmarks: the page, and on each view's root three things that they read.
 * `frames` counts the frames painted since it was first read. `selected` is the number of items that the next frame marks as
 * selected. `places(side)` has a row for each node that is drawn as itself on a side: id, x and y of its centre, width; in CSS
 * pixels of the pane.
 */
import page from "../index.ts";
import { Pane } from "../pane/pane.ts";
import { toScreen } from "../render/camera.ts";
import { type Stage } from "../render/stage.ts";

const stages = new WeakMap<HTMLCanvasElement, Stage>();
const { frame } = Pane.prototype;

/** A pane makes a frame each time it paints. */
Pane.prototype.frame = function (this: Pane) {
  stages.set(this.canvas, this.stage);
  return frame.call(this);
};

export default {
  render(context: Parameters<typeof page.render>[0]): () => void {
    const end = page.render(context);
    const root = context.el.querySelector<HTMLElement>(".wb");
    if (root) probe(root);
    return end;
  },
};

function probe(root: HTMLElement): void {
  let frames: number | null = null;
  Object.defineProperties(root, {
    frames: {
      get: () => {
        const stage = stageOf(root);
        if (frames === null && stage) {
          frames = 0;
          stage.events.on("painted", () => {
            frames = (frames ?? 0) + 1;
          });
        }
        return frames ?? 0;
      },
    },
    selected: { get: () => stageOf(root)?.look.selected.size ?? 0 },
    places: { value: (side: 0 | 1) => places(stageOf(root), side) },
  });
}

function stageOf(root: HTMLElement): Stage | undefined {
  const canvas = root.querySelector<HTMLCanvasElement>("canvas.wb-canvas");
  return canvas ? stages.get(canvas) : undefined;
}

function places(stage: Stage | undefined, side: 0 | 1): number[][] {
  const rows: number[][] = [];
  if (!stage?.scene) return rows;
  const { scene, picture, camera, view } = stage;
  picture.node[side].forEach((u, id) => {
    const item = scene.visible.itemOf[u] ?? -1;
    const [x = 0, y = 0, width = 0] = [scene.x[item], scene.y[item], scene.size.width[item]];
    if (scene.visible.node[item] === u) rows.push([id, ...toScreen(camera, view, x, y), width * camera.scale]);
  });
  return rows;
}
