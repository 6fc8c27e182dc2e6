/**
 * The layout engine's whole interface: typed arrays in, typed arrays out, so that both sides of a worker
 * share it and nothing is copied. All lengths are CSS pixels at scale 1.
 */
export interface LayoutInput {
  /** Visible items. Sizes are measured by the renderer; `group` is the innermost open group, -1 at the top. */
  nodes: { width: Float32Array; height: Float32Array; group: Int32Array };
  /** `port` is the argument position at the target: inputs enter left to right in that order. */
  edges: { source: Uint32Array; target: Uint32Array; port: Uint16Array };
  /** Every group here is open; a collapsed group is passed as a node. `parent` is -1 at the top. */
  groups: { parent: Int32Array; headerHeight: Float32Array; minWidth: Float32Array };
  /** Centres in the previous picture, NaN where a node is new. The new picture stays as close as it can. */
  seed?: { x: Float32Array; y: Float32Array };
  options?: LayoutOptions;
}

export interface LayoutOptions {
  /** Between neighbours in a layer. Default 24. */
  nodeGap?: number;
  /** Between one layer's boxes and the next one's; grows where edges run far sideways. Default 36. */
  layerGap?: number;
  /** Between a group's sides and its contents. Default 12. */
  padding?: number;
  /** Between a group's header, or its lower border, and its contents. Default 8. */
  verticalPadding?: number;
}

export interface LayoutResult {
  /** Node centres. The picture starts at (0, 0). */
  x: Float32Array;
  y: Float32Array;
  /** x, y, width, height per group; x and y are the top-left corner. */
  groupBox: Float32Array;
  /**
   * Polylines, as x, y pairs: edge e has the points edgeOffset[e] .. edgeOffset[e + 1] (counted in pairs),
   * from the source's bottom to the target's top. Only where the boxes joined form a cycle (a scope left and entered
   * again) does one edge run the other way, from the source's top up to the target's bottom; an edge from a node to
   * itself has no points. All edges of one producer share one trunk. A piece that
   * is not vertical always lies between two layers, so rounding it with vertical tangents stays clear of boxes.
   */
  edgePoints: Float32Array;
  edgeOffset: Uint32Array;
  width: number;
  height: number;
}

export interface Request {
  id: number;
  input: LayoutInput;
}

export type Reply = { id: number; result: LayoutResult } | { id: number; error: string };

/** A result's buffers, to be handed over instead of copied. */
export function buffersOf(result: LayoutResult): Transferable[] {
  return [result.x, result.y, result.groupBox, result.edgePoints, result.edgeOffset].map(
    (array) => array.buffer as ArrayBuffer,
  );
}
