/**
 * The same picture as SVG: a pen that writes elements instead of pixels, so that what is saved can't drift from what is
 * drawn. All text goes through `escaped`; nothing else of a module's strings reaches the file.
 */
import { cornerRadius, Ink, type Pen } from "./pen.ts";

const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { left: "start", center: "middle", right: "end" };
const BASELINES: Partial<Record<CanvasTextBaseline, string>> = {
  middle: "central",
  top: "text-before-edge",
  bottom: "text-after-edge",
};

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
