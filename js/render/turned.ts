/**
 * Data that flows to the right: the layout works as ever, on boxes that lie on their sides, and its answer is turned back.
 * So a box keeps its words the right way up. A group's name stands above what is in it, which is beside it to the layout:
 * above and below get room for a name, and the lower line is drawn closer.
 */
import { HEADER, type Sizes } from "./content.ts";
import { PADDING, type Question, type Seed } from "./question.ts";
import { indexed, type Scene } from "./scene.ts";

const ROOM = HEADER + 4;
const SPARE = ROOM - PADDING;
/** Arrows that lie need a little more than arrows that fall. */
const MORE_BETWEEN_LAYERS = 10;
const BETWEEN_NODES = 16;

export function turnedSizes(size: Sizes): Sizes {
  return { width: size.height, height: size.width };
}

export function swapped(seed: Seed): Seed {
  return { x: seed.y, y: seed.x };
}

export function asksToTheRight(question: Question): Question {
  const { groups, options } = question.input;
  const none = new Float32Array(groups.parent.length);
  return {
    ...question,
    input: {
      ...question.input,
      groups: { ...groups, headerHeight: none, minWidth: none },
      options: {
        ...options,
        nodeGap: BETWEEN_NODES,
        layerGap: (options?.layerGap ?? 32) + MORE_BETWEEN_LAYERS,
        padding: ROOM,
        verticalPadding: PADDING,
      },
    },
  };
}

/** The scene as it is drawn; `size` has the boxes upright. */
export function turnedScene(laid: Scene, size: Sizes): Scene {
  const swap = (pairs: Float32Array) => pairs.map((_, i) => pairs[i ^ 1]);
  const groupBox = swap(laid.groupBox).map((at, i) => (i % 4 === 3 ? at - SPARE : at));
  const [x, y, width, height] = [laid.y, laid.x, laid.height, laid.width];
  const places = { ...laid, size, x, y, groupBox, points: swap(laid.points), width, height, turned: true };
  return indexed(places, new Float32Array(laid.visible.open.length));
}
