/**
 * The whole picture in a corner. Deep graphs are thousands of times higher than wide, so each axis has its own
 * scale: it is a map of where the changes are and where one looks, not a small copy.
 */
import { createElement } from "preact";
import { Button } from "../components/button.tsx";
import { contextOf, element } from "../components/element.ts";
import { elementOf } from "../components/mount.tsx";
import { toWorld } from "../render/camera.ts";
import { type Frame, markOf } from "../render/frame.ts";
import { markInside } from "../render/paint_nodes.ts";
import { itemsIn, type Scene } from "../render/scene.ts";
import { type Stage } from "../render/stage.ts";
import { type Theme } from "../render/theme.ts";

/** Along the flow, and across it. */
const LONG = 120;
const SHORT = 64;
/** From the pane's edge, and what the map's own edge takes. */
const INSET = 8;
const CORNERS = ["bottom right", "bottom left", "top right", "top left"] as const;

export class Minimap {
  readonly element: HTMLElement;
  private readonly canvas = element("canvas", { class: "wb-minimap-canvas", "aria-hidden": "true" });
  private readonly still = document.createElement("canvas");
  private drawn: Scene | null = null;
  private awaited: Scene | null = null;
  /** Open or closed by hand; null where it is open as long as a corner has the room. */
  private wish: boolean | null = null;
  private corner: (typeof CORNERS)[number] = CORNERS[0];

  constructor(
    private readonly stage: Stage,
    private theme: Theme,
    private readonly sides: number,
  ) {
    this.element = element("div", { class: "wb-minimap", hidden: "" }, this.canvas, this.button());
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.go(event);
    });
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.drawn = null;
  }

  toggle(): void {
    this.wish = !this.element.classList.toggle("wb-closed");
    this.stage.repaint();
  }

  /** Whether the map has a corner without a box beneath it: the one it is in, or else another. */
  private finds(frame: Frame, wide: number, high: number): boolean {
    // It does not go from under the pointer.
    if (this.element.matches(":hover")) return true;
    const { scene, camera, view, sides } = frame;
    const free = [this.corner, ...CORNERS].find((corner) => {
      const x = corner.endsWith("left") ? 0 : view.width - wide - 2 * INSET;
      const y = corner.startsWith("top") ? 0 : view.height - high - 2 * INSET;
      const [x0, y0] = toWorld(camera, view, x, y);
      const [x1, y1] = toWorld(camera, view, x + wide + 2 * INSET, y + high + 2 * INSET);
      return itemsIn(scene, sides, [x0, y0, x1, y1]).length === 0;
    });
    this.corner = free ?? this.corner;
    return free !== undefined;
  }

  private button(): HTMLElement {
    const label = "Show or hide the map (m)";
    const look = { class: "wb-button wb-minimap-close", tabIndex: -1, onClick: () => this.toggle() };
    return elementOf(createElement(Button, { label, ...look }));
  }

  private go(event: PointerEvent): void {
    const { scene, camera } = this.stage;
    if (!scene) return;
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * scene.width;
    const y = ((event.clientY - box.top) / box.height) * scene.height;
    this.stage.setCamera({ ...camera, x, y });
  }

  paint(frame: Frame): void {
    const { scene, view, camera } = frame;
    const across = view.width / camera.scale;
    const down = view.height / camera.scale;
    // A map of what is wholly on screen, or of a pane as small as the map, says nothing.
    const [wide, high] = scene.turned ? [LONG, SHORT] : [SHORT, LONG];
    const needed =
      (scene.height > down * 1.6 || scene.width > across * 1.6) && view.width > 3 * wide && view.height > 1.6 * high;
    this.element.hidden = !needed;
    if (!needed) return;
    const open = this.wish === false ? false : this.finds(frame, wide, high) || this.wish === true;
    this.element.classList.toggle("wb-closed", !open);
    this.element.dataset.corner = this.corner;
    if (!open) return;
    this.element.classList.toggle("wb-turned", scene.turned === true);
    const ratio = window.devicePixelRatio || 1;
    if (this.drawn !== scene || this.still.width !== Math.round(wide * ratio)) {
      // A map of thousands of boxes comes after the picture.
      if (this.awaited !== scene) {
        this.awaited = scene;
        setTimeout(() => {
          if (this.awaited === scene && this.drawn !== scene) this.paint(frame);
        });
        return;
      }
      this.draw(frame, ratio);
    }
    // Only when it changes: a canvas that is given a size is made anew.
    if (this.canvas.width !== this.still.width || this.canvas.height !== this.still.height) {
      this.canvas.width = this.still.width;
      this.canvas.height = this.still.height;
    }
    const context = contextOf(this.canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.still, 0, 0);
    context.scale(ratio, ratio);
    const toX = wide / Math.max(1, scene.width);
    const toY = high / Math.max(1, scene.height);
    const left = Math.max(0.5, (camera.x - across / 2) * toX);
    const top = Math.max(0.5, (camera.y - down / 2) * toY);
    const right = Math.min(wide - 0.5, (camera.x + across / 2) * toX);
    const bottom = Math.min(high - 0.5, Math.max(top + 4, (camera.y + down / 2) * toY));
    context.strokeStyle = this.theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left, top, Math.max(3, right - left), Math.max(3, bottom - top));
  }

  private draw(frame: Frame, ratio: number): void {
    const { scene } = frame;
    const [wide, high] = scene.turned ? [LONG, SHORT] : [SHORT, LONG];
    this.drawn = scene;
    this.still.width = Math.round(wide * ratio);
    this.still.height = Math.round(high * ratio);
    const context = contextOf(this.still);
    context.scale(ratio, ratio);
    context.fillStyle = this.theme.surface;
    context.fillRect(0, 0, wide, high);
    paintMap(context, frame, this.sides, wide / Math.max(1, scene.width), high / Math.max(1, scene.height), ratio);
  }
}

/** All items in cells of one pixel, a mark over what is unmarked: thousands of boxes share a few hundred pixels, and each is painted once. */
function paintMap(
  context: CanvasRenderingContext2D,
  frame: Frame,
  sides: number,
  toX: number,
  toY: number,
  ratio: number,
): void {
  const { scene } = frame;
  const [columns, rows] = [context.canvas.width, context.canvas.height];
  /** 0 where nothing is, otherwise the mark and 1. */
  const cells = new Uint8Array(columns * rows);
  for (let i = 0; i < scene.visible.count; i++) {
    if (!((scene.visible.side[i] ?? 0) & sides)) continue;
    const mark = markOf(frame, i) || markInside(frame, i);
    const w = Math.max(mark > 0 ? 3 : 1.5, (scene.size.width[i] ?? 0) * toX) * ratio;
    const h = Math.max(mark > 0 ? 2 : 1, (scene.size.height[i] ?? 0) * toY) * ratio;
    const left = Math.max(0, Math.round((scene.x[i] ?? 0) * toX * ratio - w / 2));
    const right = Math.min(columns, Math.max(left + 1, Math.round(left + w)));
    const top = Math.max(0, Math.round((scene.y[i] ?? 0) * toY * ratio - h / 2));
    const bottom = Math.min(rows, Math.max(top + 1, Math.round(top + h)));
    for (let row = top; row < bottom; row++) {
      for (let c = row * columns + left; c < row * columns + right; c++) cells[c] = Math.max(cells[c] ?? 0, mark + 1);
    }
  }
  for (let row = 0; row < rows; row++) {
    for (let c = 0; c < columns; ) {
      const cell = cells[row * columns + c] ?? 0;
      const from = c;
      while (c < columns && cells[row * columns + c] === cell) c++;
      if (cell === 0) continue;
      context.fillStyle = (cell > 1 && frame.theme.mark[cell - 1]) || frame.theme.boxLine;
      context.fillRect(from / ratio, row / ratio, (c - from) / ratio, 1 / ratio);
    }
  }
}
