/** The same picture as a list of strokes, fills and texts: workbench/widgets/pictures.py draws them into PDF and PNG. */
import { cornerRadius, Ink, type Pen } from "./pen.ts";

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
