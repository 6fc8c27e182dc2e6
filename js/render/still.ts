/** The panes of a view as they are on the screen, in the colours of paper, as one picture of bounded size. */
import { type Size } from "./camera.ts";
import { type Frame } from "./frame.ts";
import { PLAIN } from "./look.ts";
import { paint } from "./paint.ts";
import { PAPER } from "./paper.ts";
import { escaped, type Pen, SvgPen } from "./pen.ts";
import { type Ruler } from "./text.ts";

/** Characters of a picture as a URL; workbench/widgets/still.py refuses a longer one. */
const MOST = 100_000;
/** Of a title: its row, and where the letters stand in it. */
const [HEAD, INDENT, RISE, SIZE] = [22, 4, 7, 13];
const GAP = 8;

/** The content of a canvas in the colours of paper, with nothing pointed at. */
export interface Drawing {
  view: Size;
  ruler: Ruler;
  paint: (pen: Pen, ratio: number) => void;
}

export interface StillSheet extends Drawing {
  title: string;
}

interface Place extends StillSheet {
  x: number;
  y: number;
}

export function bounded(url: string): string | null {
  return url.length <= MOST ? url : null;
}

export function stillSvg(sheets: readonly StillSheet[], stacked: boolean): string {
  const { places, width, height } = arranged(sheets, stacked);
  const family = ` font-family="${escaped(PAPER.font)}"`;
  const panes = places.map(({ view, paint, title, x, y }) => {
    const pen = new SvgPen();
    paint(pen, 1);
    const head = title
      ? `<text x="${x + INDENT}" y="${y - RISE}" font-size="${SIZE}" font-weight="600" fill="${PAPER.dim}">${escaped(title)}</text>`
      : "";
    // An inner svg cuts off what is outside of its pane. All letters are of one family, which is said once.
    return `${head}<svg x="${x}" y="${y}" width="${view.width}" height="${view.height}">${pen.take().replaceAll(family, "")}</svg>`;
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"${family}>` +
    `<rect width="100%" height="100%" fill="${PAPER.background}"/>${panes.join("")}</svg>`
  );
}

/** Smaller where it would be too long; null where no size is short enough. */
export function stillPixels(sheets: readonly StillSheet[], stacked: boolean): string | null {
  const { places, width, height } = arranged(sheets, stacked);
  for (const ratio of [1, 0.7, 0.5, 0.35]) {
    const whole = sized(width * ratio, height * ratio);
    const pen = whole.getContext("2d", { alpha: false })!;
    pen.fillStyle = PAPER.background;
    pen.fillRect(0, 0, whole.width, whole.height);
    for (const { view, paint, title, x, y } of places) {
      const pane = sized(view.width * ratio, view.height * ratio);
      paint(pane.getContext("2d", { alpha: false })!, ratio);
      pen.drawImage(pane, Math.round(x * ratio), Math.round(y * ratio));
      pen.font = `600 ${SIZE * ratio}px ${PAPER.font}`;
      pen.fillStyle = PAPER.dim;
      pen.fillText(title, (x + INDENT) * ratio, (y - RISE) * ratio);
    }
    const found = bounded(whole.toDataURL("image/webp", 0.8));
    if (found) return found;
  }
  return null;
}

/** Panes beside each other, or one over the other, each under its title. */
function arranged(sheets: readonly StillSheet[], stacked: boolean): { places: Place[]; width: number; height: number } {
  const places: Place[] = [];
  let [x, y, width, height] = [0, 0, 0, 0];
  for (const sheet of sheets) {
    const head = sheet.title ? HEAD : 0;
    const { view, ruler } = sheet;
    places.push({ ...sheet, title: ruler.fit(sheet.title, view.width - 4 * INDENT, SIZE, true), x, y: y + head });
    [width, height] = [Math.max(width, x + view.width), Math.max(height, y + head + view.height)];
    if (stacked) y = height + GAP;
    else x = width + GAP;
  }
  return { places, width: Math.ceil(width), height: Math.ceil(height) };
}

/** The drawing of a graph's frame, at rest. */
export function graphDrawing(frame: Frame): Drawing {
  const { hovered, hoveredGroup, hoveredEdge } = PLAIN;
  const look = { ...frame.look, hovered, hoveredGroup, hoveredEdge };
  const calm: Frame = { ...frame, theme: PAPER, t: 1, earlier: null, look };
  return { view: frame.view, ruler: frame.ruler, paint: (pen, ratio) => paint(pen, ratio, calm) };
}

function sized(width: number, height: number): HTMLCanvasElement {
  return Object.assign(document.createElement("canvas"), {
    width: Math.max(1, Math.round(width)),
    height: Math.max(1, Math.round(height)),
  });
}
