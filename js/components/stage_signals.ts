/** The state of a Stage as signals: a component that reads one is drawn again when it changes. */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { type Picture } from "../graph/picture.ts";
import { type Look } from "../render/look.ts";
import { type Scene } from "../render/scene.ts";
import { type Stage } from "../render/stage.ts";

interface StageSignals {
  /** The picture that was set last; its scene may still be on its way from the worker. */
  picture: ReadonlySignal<Picture>;
  /** The arrangement on the screen, with its own picture in `scene.visible.picture`. */
  scene: ReadonlySignal<Scene | null>;
  /** Nodes of `picture`. */
  selection: ReadonlySignal<readonly number[]>;
  look: ReadonlySignal<Look>;
  /** The error of the last arrangement; null where there is none. */
  failed: ReadonlySignal<Error | null>;
}

const known = new WeakMap<Stage, StageSignals>();

/** The signals of a stage: the same ones for every component that asks. */
export function stageSignals(stage: Stage): StageSignals {
  const signals = known.get(stage) ?? listen(stage);
  known.set(stage, signals);
  return signals;
}

function listen(stage: Stage): StageSignals {
  const picture = signal(stage.picture);
  const scene = signal(stage.scene);
  const selection = signal<readonly number[]>(stage.selection);
  const look = signal(stage.look);
  const failed = signal<Error | null>(null);
  const { events } = stage;
  // A selection is of its picture: a component never reads one without the other.
  events.on("select", ({ nodes }) =>
    batch(() => {
      picture.value = stage.picture;
      selection.value = nodes;
    }),
  );
  events.on("scene", (now) => {
    scene.value = now;
  });
  events.on("look", (now) => {
    look.value = now;
  });
  events.on("failed", (error) => {
    failed.value = error;
  });
  return { picture, scene, selection, look, failed };
}
