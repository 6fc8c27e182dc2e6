/** A scene as one SVG file: both sides beside each other with their titles, at the size it has on screen at 100 %. */
import { type Frame } from "./frame.ts";
import { PLAIN } from "./look.ts";
import { paint } from "./paint.ts";
import { escaped, type Stroke, StrokePen, SvgPen, type Words } from "./pen.ts";

const MARGIN = 24;
const HEAD = 28;

export interface Sheet {
  frame: Frame;
  title: string;
}

export function toSvg(sheets: readonly Sheet[]): string {
  const { theme } = sheets[0].frame;
  const view = room(sheets[0].frame);
  const parts = sheets.map((sheet, i) => {
    const pen = new SvgPen();
    paint(pen, 1, whole(sheet.frame));
    const title = sheet.title
      ? `<text x="${MARGIN}" y="18" font-size="13" font-weight="600" font-family="sans-serif" fill="${escaped(theme.dim)}">${escaped(sheet.title)}</text>`
      : "";
    return `<g transform="translate(${i * view.width} 0)">${title}<g transform="translate(0 ${HEAD})">\n${pen.take()}\n</g></g>`;
  });
  const [width, height] = [Math.ceil(view.width * sheets.length), Math.ceil(view.height + HEAD)];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n` +
    `<rect width="100%" height="100%" fill="${escaped(theme.background)}"/>\n${parts.join("\n")}\n</svg>\n`
  );
}

/** The same as strokes on one page, for what is drawn elsewhere. */
export function toStrokes(sheets: readonly Sheet[]): {
  width: number;
  height: number;
  background: string;
  drawn: (Stroke | Words)[];
} {
  const { theme } = sheets[0].frame;
  const view = room(sheets[0].frame);
  const drawn = sheets.flatMap((sheet, i) => {
    const title = new StrokePen(i * view.width, 0);
    title.font = "600 13px sans-serif";
    title.fillStyle = theme.dim;
    title.fillText(sheet.title, MARGIN, 18);
    const pen = new StrokePen(i * view.width, HEAD);
    paint(pen, 1, whole(sheet.frame));
    return [...title.drawn, ...pen.drawn];
  });
  return { width: view.width * sheets.length, height: view.height + HEAD, background: theme.background, drawn };
}

function room({ scene }: Frame): { width: number; height: number } {
  return { width: scene.width + 2 * MARGIN, height: scene.height + 2 * MARGIN };
}

/** The frame that shows all of a scene, at rest and with nothing pointed at. */
function whole(frame: Frame): Frame {
  const { scene, look } = frame;
  const camera = { x: scene.width / 2, y: scene.height / 2, scale: 1 };
  return {
    ...frame,
    camera,
    view: room(frame),
    t: 1,
    earlier: null,
    look: { ...PLAIN, overlay: look.overlay, values: look.values },
  };
}
