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
  | "rect"
  | "fill"
  | "stroke"
  | "fillRect"
  | "fillText"
  | "setLineDash"
  | "save"
  | "restore"
> & { roundRect(x: number, y: number, w: number, h: number, radius: number): void };

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

/** A pen that is not a canvas: its state, with a canvas's first values, and the paths of straight and curved lines. */
export abstract class Ink {
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

  abstract beginPath(): void;
  /** Adds a piece to the path, as SVG names it. */
  protected abstract add(code: string, ...at: number[]): void;

  moveTo(x: number, y: number): void {
    this.add("M", x, y);
  }
  lineTo(x: number, y: number): void {
    this.add("L", x, y);
  }
  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number): void {
    this.add("C", a, b, c, d, x, y);
  }
  closePath(): void {
    this.add("Z");
  }

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

/** The radius that the corners of a rectangle have room for. */
export function cornerRadius(radius: number, w: number, h: number): number {
  return Math.max(0, Math.min(radius, w / 2, h / 2));
}
