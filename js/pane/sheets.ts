/** The canvases of which a notebook keeps a picture, each with its drawing. */
import { type Drawing } from "../render/still.ts";

const drawings = new WeakMap<HTMLCanvasElement, () => Drawing | null>();

/** Keep the function that returns a canvas' drawing; null while there is none. */
export function keepDrawing(canvas: HTMLCanvasElement, drawing: () => Drawing | null): void {
  drawings.set(canvas, drawing);
}

export function drawingOf(canvas: HTMLCanvasElement): Drawing | null {
  return drawings.get(canvas)?.() ?? null;
}
