/** The part of a canvas that pictures are drawn with: a canvas has it, and so has the SVG writer. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "lineCap"
  | "lineJoin"
  | "globalAlpha"
  | "font"
  | "textAlign"
  | "textBaseline"
  | "setTransform"
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "bezierCurveTo"
  | "closePath"
  | "arc"
  | "roundRect"
  | "rect"
  | "fill"
  | "stroke"
  | "fillRect"
  | "fillText"
  | "setLineDash"
  | "save"
  | "restore"
>;

const STATE = [
  "fillStyle",
  "strokeStyle",
  "lineWidth",
  "lineCap",
  "lineJoin",
  "globalAlpha",
  "font",
  "textAlign",
  "textBaseline",
  "dash",
] as const;

/** The state of a pen that is not a canvas, with a canvas's first values. */
export class Ink {
  fillStyle: string = "#000";
  strokeStyle: string = "#000";
  lineWidth = 1;
  lineCap: CanvasLineCap = "butt";
  lineJoin: CanvasLineJoin = "miter";
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  protected dash: readonly number[] = [];
  private readonly saved: Partial<Record<(typeof STATE)[number], unknown>>[] = [];

  setTransform(): void {
    // A canvas is scaled to the screen's pixels; a drawing has none.
  }

  setLineDash(dash: Iterable<number>): void {
    this.dash = [...dash];
  }

  save(): void {
    this.saved.push(Object.fromEntries(STATE.map((name) => [name, this[name]])));
  }

  restore(): void {
    Object.assign(this, this.saved.pop());
  }
}

/** The radius of a rectangle's corners; pens take one number only. */
export function cornerRadius(
  radius: number | DOMPointInit | Iterable<unknown> | undefined,
  w: number,
  h: number,
): number {
  return Math.max(0, Math.min(typeof radius === "number" ? radius : 0, w / 2, h / 2));
}
