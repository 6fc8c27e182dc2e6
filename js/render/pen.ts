/** The part of a canvas that pictures are drawn with: a canvas has it, and so has the SVG writer. */
export type Pen = Pick<CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "lineCap" | "lineJoin" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "setTransform" | "beginPath" | "moveTo" | "lineTo" | "bezierCurveTo" | "closePath" | "arc" | "roundRect" | "rect"
  | "fill" | "stroke" | "fillRect" | "fillText" | "setLineDash" | "save" | "restore">;
