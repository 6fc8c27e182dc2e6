/** The signs of UX.md, drawn as strokes so that they look alike in every font: + - ~, joined and forked arrows. */
import { type Pen } from "./pen.ts";

export function paintMark(
  context: Pen,
  mark: number,
  x: number,
  y: number,
  r: number,
  color: string,
  paper: string,
): void {
  if (mark === 0) return;
  context.setLineDash([]);
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
  context.fillStyle = color;
  context.fill();
  context.lineWidth = Math.max(1.2, r * 0.28);
  context.strokeStyle = paper;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.beginPath();
  const a = r * 0.52;
  switch (mark) {
    case 1:
      context.moveTo(x - a, y + a * 0.25);
      context.bezierCurveTo(x - a * 0.4, y - a * 0.9, x + a * 0.4, y + a * 0.9, x + a, y - a * 0.25);
      break;
    case 2:
      context.moveTo(x - a, y);
      context.lineTo(x + a, y);
      break;
    case 3:
      context.moveTo(x - a, y);
      context.lineTo(x + a, y);
      context.moveTo(x, y - a);
      context.lineTo(x, y + a);
      break;
    default: {
      // Two lines that become one, or one that becomes two.
      const way = mark === 4 ? 1 : -1;
      context.moveTo(x - a * 0.8, y - way * a);
      context.lineTo(x, y);
      context.lineTo(x + a * 0.8, y - way * a);
      context.moveTo(x, y);
      context.lineTo(x, y + way * a);
    }
  }
  context.stroke();
  context.lineCap = "butt";
}
