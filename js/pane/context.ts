/** The 2D context of a canvas. Every browser that runs a notebook has one. */
export function contextOf(canvas: HTMLCanvasElement, settings?: CanvasRenderingContext2DSettings) {
  const context = canvas.getContext("2d", settings);
  if (!context) throw new Error("This browser draws no 2D canvas.");
  return context;
}
