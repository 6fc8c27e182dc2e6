/**
 * A frame too costly to draw sixty times a second (fifty thousand boxes in view at once) is drawn once, and while the
 * camera moves its picture is moved instead; when the hand rests it is drawn again, sharp.
 */
import { contextOf } from "../components/element.ts";
import { toScreen } from "../render/camera.ts";
import { type Frame } from "../render/frame.ts";

const COSTLY_MS = 20;
const REST_MS = 110;

export class CachedFrame {
  private readonly canvas = document.createElement("canvas");
  private of: Frame | null = null;
  private timer = 0;
  private sharp = true;

  constructor(private readonly repaint: () => void) {}

  /** Paints the frame, or moves the last one's picture; `paint` is the costly way. */
  draw(context: CanvasRenderingContext2D, ratio: number, frame: Frame, paint: () => void): void {
    if (this.of && !this.sharp && sameButCamera(this.of, frame)) return this.move(context, ratio, frame, this.of);
    const since = performance.now();
    paint();
    const cost = performance.now() - since;
    this.of = null;
    if (cost < COSTLY_MS || frame.t < 1) return;
    const { width, height } = context.canvas;
    this.canvas.width = width;
    this.canvas.height = height;
    contextOf(this.canvas).drawImage(context.canvas, 0, 0);
    this.of = frame;
    this.sharp = false;
  }

  private move(context: CanvasRenderingContext2D, ratio: number, frame: Frame, then: Frame): void {
    const grown = frame.camera.scale / then.camera.scale;
    const [x, y] = toScreen(
      frame.camera,
      frame.view,
      then.camera.x - then.view.width / 2 / then.camera.scale,
      then.camera.y - then.view.height / 2 / then.camera.scale,
    );
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = frame.theme.background;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    context.drawImage(this.canvas, x * ratio, y * ratio, this.canvas.width * grown, this.canvas.height * grown);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.sharp = true;
      this.repaint();
    }, REST_MS);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}

function sameButCamera(a: Frame, b: Frame): boolean {
  return (
    a.scene === b.scene &&
    a.look === b.look &&
    a.theme === b.theme &&
    a.view.width === b.view.width &&
    a.view.height === b.view.height &&
    b.t >= 1 &&
    b.camera.scale / a.camera.scale < 4 &&
    b.camera.scale / a.camera.scale > 0.25
  );
}
