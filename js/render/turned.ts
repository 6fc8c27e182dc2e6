/**
 * Data that flows to the right: the layout works as ever, on boxes that lie on their sides, and its answer is turned back.
 * So a box keeps its words the right way up. A group's name stands above what is in it, which is beside it to the layout:
 * above and below get room for a name, and the lower line is drawn closer.
 */
import { HEADER, type Sizes } from "./content.ts";
import { Grid } from "./grid.ts";
import { PADDING, type Question, type Seed } from "./question.ts";
import { edgeBoxes, type Scene, sideBoxes } from "./scene.ts";

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
  const { visible } = laid;
  const [x, y] = [laid.y, laid.x];
  const boxes = new Float32Array(4 * visible.count);
  for (let i = 0; i < visible.count; i++) {
    boxes.set(
      [x[i] - size.width[i] / 2, y[i] - size.height[i] / 2, x[i] + size.width[i] / 2, y[i] + size.height[i] / 2],
      4 * i,
    );
  }
  const groupBox = turnedGroups(laid.groupBox);
  const points = swappedPairs(laid.points);
  const [width, height] = [laid.height, laid.width];
  const noName = new Float32Array(visible.open.length);
  const drawn: (Float32Array | undefined)[] = [];
  return {
    ...laid,
    size,
    x,
    y,
    groupBox,
    points,
    width,
    height,
    turned: true,
    sideBox: (sides) => (drawn[sides] ??= sideBoxes(visible, boxes, groupBox, noName, sides)),
    items: new Grid(boxes, width, height),
    edges: new Grid(edgeBoxes(points, laid.pointOffset), width, height),
  };
}

function turnedGroups(laid: Float32Array): Float32Array {
  const out = new Float32Array(laid.length);
  for (let g = 0; g < laid.length; g += 4) {
    out.set([laid[g + 1], laid[g], laid[g + 3], laid[g + 2] - SPARE], g);
  }
  return out;
}

function swappedPairs(points: Float32Array): Float32Array {
  const out = new Float32Array(points.length);
  for (let p = 0; p < points.length; p += 2) {
    out[p] = points[p + 1];
    out[p + 1] = points[p];
  }
  return out;
}
