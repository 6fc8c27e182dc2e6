/** The number of arrangements that have come onto the screen, for those who wait for the next one in the page itself. */
import { type Stage } from "../render/stage.ts";

/** Keeps `data-scenes` on a view's root. */
export function countScenes(root: HTMLElement, stage: Stage): void {
  let [scenes, shown] = [0, 0];
  stage.events.on("scene", () => {
    scenes++;
  });
  stage.events.on("painted", () => {
    if (stage.view.width === 0 || shown === scenes) return;
    shown = scenes;
    root.dataset.scenes = String(shown);
  });
}
