/** A scene as one SVG file: both sides beside each other with their titles, at the size it has on screen at 100 %. */
import { type Frame } from "./frame.ts";
import { PLAIN } from "./look.ts";
import { paint } from "./paint.ts";
import { SvgPen, escape } from "./svg.ts";

const MARGIN = 24;
const HEAD = 28;

export interface Sheet {
  frame: Frame;
  title: string;
}

export function toSvg(sheets: readonly Sheet[]): string {
  const [{ frame }] = sheets;
  const { scene, theme } = frame;
  const view = { width: scene.width + 2 * MARGIN, height: scene.height + 2 * MARGIN };
  const camera = { x: scene.width / 2, y: scene.height / 2, scale: 1 };
  const parts = sheets.map((sheet, i) => {
    const pen = new SvgPen();
    paint(pen, 1, { ...sheet.frame, camera, view, t: 1, earlier: null, look: { ...PLAIN, overlay: frame.look.overlay, values: frame.look.values } });
    const title = sheet.title ? `<text x="${MARGIN}" y="18" font-size="13" font-weight="600" font-family="sans-serif" fill="${escape(theme.dim)}">${escape(sheet.title)}</text>` : "";
    return `<g transform="translate(${i * view.width} 0)">${title}<g transform="translate(0 ${HEAD})">\n${pen.take()}\n</g></g>`;
  });
  const [width, height] = [Math.ceil(view.width * sheets.length), Math.ceil(view.height + HEAD)];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n`
    + `<rect width="100%" height="100%" fill="${escape(theme.background)}"/>\n${parts.join("\n")}\n</svg>\n`;
}
