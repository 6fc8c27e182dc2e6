/** One level of the picture: a flat directed acyclic graph of boxes and border stubs, and its layout. */

export interface Spacing {
  nodeGap: number;
  layerGap: number;
}

export interface LevelGraph {
  width: Float32Array;
  height: Float32Array;
  /** Of a box that is a group: from its border to its contents, above and below; 0 for a node. */
  head: Float32Array;
  foot: Float32Array;
  /** How far the group's upper border can come down while its lower one stays; 0 for a node, and once groups have been squeezed. */
  give: Float32Array;
  /** BOX, ENTRY or EXIT (hierarchy.ts). */
  kind: Uint32Array;
  /** 1 for the entry stub, and for the wire into each item, that brings by far the deepest value: the main line. */
  mainEntry: Uint32Array;
  mainWire: Uint32Array;
  /** Wires, by local item number. */
  source: Uint32Array;
  target: Uint32Array;
  /** Wires of one net leave the same point of the same item and share one trunk. */
  net: Uint32Array;
  /** Order of the wire among those that enter the target from above, or leave the source below. */
  targetPort: Uint32Array;
  sourcePort: Uint32Array;
  /** Where the end is fixed by the inside of a box: x relative to the box's centre; NaN where it is free. */
  targetShift: Float32Array;
  sourceShift: Float32Array;
  /** Centres in the previous picture, up to a common translation; NaN where unknown. */
  seedX: Float32Array;
  seedY: Float32Array;
  /** The work that the order may take is halved so often: more than 0 in a large picture. */
  haste: number;
}

export interface LevelLayout {
  width: number;
  height: number;
  /** Item centres; the level's contents start at (0, 0). */
  x: Float32Array;
  y: Float32Array;
  /** Polyline of wire w: points offset[w] .. offset[w + 1], as pairs. */
  points: Float32Array;
  offset: Uint32Array;
  /** How far all contents could come down into the lower part, and how far each group must (levels.ts); 0 without a previous picture. */
  give: number;
  squeeze: Float32Array;
}

/** A level's layout and where it sits inside its group: contents are shifted by inset, below the header. */
export interface Placed {
  layout: LevelLayout;
  items: Uint32Array;
  width: number;
  height: number;
  insetX: number;
  insetY: number;
  foot: number;
}

/**
 * Places are kept on a grid, and sizes on one twice as wide: then sums of them are exact, also where a picture is a
 * million pixels high, and a level that has only moved as a whole is recognised.
 */
export function onGrid(place: number): number {
  return Math.round(8 * place) / 8;
}

export function sizeOnGrid(size: number): number {
  return Math.ceil(4 * size) / 4;
}

/** The lower median. */
export function median(values: number[]): number {
  return values.sort((a, b) => a - b)[(values.length - 1) >> 1];
}
