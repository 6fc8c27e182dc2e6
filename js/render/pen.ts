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
abstract class Ink {
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
function cornerRadius(radius: number, w: number, h: number): number {
  return Math.max(0, Math.min(radius, w / 2, h / 2));
}

const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { left: "start", center: "middle", right: "end" };
const BASELINES: Partial<Record<CanvasTextBaseline, string>> = {
  middle: "central",
  top: "text-before-edge",
  bottom: "text-after-edge",
};

/**
 * The picture as SVG: a pen that writes elements instead of pixels, so that what is saved can't drift from what is drawn. All text
 * goes through `escaped`; nothing else of a module's strings reaches the file.
 */
export class SvgPen extends Ink implements Pen {
  private path = "";
  private readonly out: string[] = [];

  override beginPath(): void {
    this.path = "";
  }
  protected override add(code: string, ...at: number[]): void {
    this.path += code + at.map(n).join(" ");
  }

  /** Whole circles only: nothing else is drawn. */
  arc(x: number, y: number, r: number): void {
    this.path += `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0Z`;
  }

  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}Z`;
  }

  roundRect(x: number, y: number, w: number, h: number, radius: number): void {
    const r = cornerRadius(radius, w, h);
    const turn = (dx: number, dy: number) => `a${n(r)} ${n(r)} 0 0 1 ${n(dx)} ${n(dy)}`;
    this.path += `M${n(x + r)} ${n(y)}h${n(w - 2 * r)}${turn(r, r)}v${n(h - 2 * r)}${turn(-r, r)}h${n(2 * r - w)}${turn(-r, -r)}v${n(2 * r - h)}${turn(r, -r)}Z`;
  }

  fill(): void {
    this.out.push(`<path d="${this.path}" fill="${escaped(this.fillStyle)}"${this.alpha()}/>`);
  }

  stroke(): void {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(n).join(" ")}"` : "";
    const cap = this.lineCap === "butt" ? "" : ` stroke-linecap="${this.lineCap}"`;
    const join = this.lineJoin === "miter" ? "" : ` stroke-linejoin="${this.lineJoin}"`;
    this.out.push(
      `<path d="${this.path}" fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${n(this.lineWidth)}"${dash}${cap}${join}${this.alpha()}/>`,
    );
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.out.push(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${escaped(this.fillStyle)}"${this.alpha()}/>`,
    );
  }

  fillText(text: string, x: number, y: number): void {
    if (text === "") return;
    const [, bold, size, family] = /^(600 )?([\d.]+)px (.*)$/.exec(this.font) ?? ["", "", "10", "sans-serif"];
    this.out.push(
      `<text x="${n(x)}" y="${n(y)}" font-size="${n(Number(size))}"${bold ? ' font-weight="600"' : ""} font-family="${escaped(family)}" text-anchor="${ANCHORS[this.textAlign] ?? "start"}" dominant-baseline="${BASELINES[this.textBaseline] ?? "auto"}" fill="${escaped(this.fillStyle)}"${this.alpha()}>${escaped(text)}</text>`,
    );
  }

  /** What was drawn since the last call. */
  take(): string {
    return this.out.splice(0).join("\n");
  }

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : "";
  }
}

/** A hundredth of a pixel is enough, and no number may be one that XML readers stumble over. */
function n(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value * 100) / 100) : "0";
}

/** Text as XML allows it, in elements and in quoted attributes. */
export function escaped(text: string): string {
  return text
    .replace(
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      "",
    )
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")
    .replace(/'/g, "&#39;");
}

/** Path codes with their points in a row (M and L one, C three, Z none), and how they are inked. */
export interface Stroke {
  codes: string;
  points: number[];
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: readonly number[];
  alpha: number;
}

export interface Words {
  text: string;
  x: number;
  y: number;
  size: number;
  bold: boolean;
  align: CanvasTextAlign;
  baseline: CanvasTextBaseline;
  fill: string;
  alpha: number;
}

/** How far a cubic's controls stand out for a quarter of a circle. */
const QUARTER = 0.5523;

/** The picture as a list of strokes, fills and texts: workbench/widgets/pictures.py draws them into PDF and PNG. */
export class StrokePen extends Ink implements Pen {
  readonly drawn: (Stroke | Words)[] = [];
  private codes = "";
  private points: number[] = [];

  constructor(
    private readonly left: number,
    private readonly top: number,
  ) {
    super();
  }

  protected override add(code: string, ...at: number[]): void {
    this.codes += code;
    at.forEach((value, i) => {
      this.points.push(Math.round((value + (i % 2 === 0 ? this.left : this.top)) * 100) / 100);
    });
  }

  override beginPath(): void {
    this.codes = "";
    this.points = [];
  }
  arc(x: number, y: number, r: number): void {
    this.roundRect(x - r, y - r, 2 * r, 2 * r, r);
  }
  rect(x: number, y: number, w: number, h: number): void {
    this.roundRect(x, y, w, h, 0);
  }

  roundRect(x: number, y: number, w: number, h: number, radius: number): void {
    const r = cornerRadius(radius, w, h);
    const k = r * (1 - QUARTER);
    const [right, bottom] = [x + w, y + h];
    this.add("M", x + r, y);
    this.add("L", right - r, y);
    this.add("C", right - k, y, right, y + k, right, y + r);
    this.add("L", right, bottom - r);
    this.add("C", right, bottom - k, right - k, bottom, right - r, bottom);
    this.add("L", x + r, bottom);
    this.add("C", x + k, bottom, x, bottom - k, x, bottom - r);
    this.add("L", x, y + r);
    this.add("C", x, y + k, x + k, y, x + r, y);
    this.add("Z");
  }

  fill(): void {
    this.drawn.push({ codes: this.codes, points: this.points.slice(), fill: this.fillStyle, alpha: this.globalAlpha });
  }

  stroke(): void {
    this.drawn.push({
      codes: this.codes,
      points: this.points.slice(),
      stroke: this.strokeStyle,
      width: this.lineWidth,
      dash: this.dash,
      alpha: this.globalAlpha,
    });
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.beginPath();
    this.rect(x, y, w, h);
    this.fill();
  }

  fillText(text: string, x: number, y: number): void {
    if (text === "") return;
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 10);
    this.drawn.push({
      text,
      x: x + this.left,
      y: y + this.top,
      size,
      bold: this.font.startsWith("600"),
      align: this.textAlign,
      baseline: this.textBaseline,
      fill: this.fillStyle,
      alpha: this.globalAlpha,
    });
  }
}
