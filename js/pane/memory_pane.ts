/** One canvas of a memory view: draws a plan, and turns pointers, wheels and keys into places and windows. */
import { effect, signal } from "@preact/signals";
import { contextOf, element } from "../components/element.ts";
import { type Shell } from "../components/shell.tsx";
import { type Shown } from "../components/tooltip.tsx";
import {
  clampWindow,
  type MemoryFrame,
  moved,
  placeAt,
  scaleOf,
  type Window,
  windowWith,
  zoomWindow,
} from "../render/memory/chart.ts";
import { paintMemory } from "../render/memory/paint.ts";
import { describePlace } from "../render/memory/plan.ts";
import { PAPER } from "../render/paper.ts";
import { type Pen } from "../render/pen.ts";
import { oneLine } from "../render/text.ts";
import { type MemoryBoard } from "./memory_board.ts";
import { keepDrawing } from "./still_sender.ts";

const CLICK_SLOP = 4;
const ZOOM = 1.4;

export class MemoryPane {
  readonly canvas: HTMLCanvasElement;
  /** The words for what is under the pointer. */
  readonly shown = signal<Shown | null>(null);
  private readonly ends: (() => void)[];
  private drag: { x: number; y: number; far: number } | null = null;
  private waiting = 0;

  constructor(
    private readonly board: MemoryBoard,
    private readonly which: number,
    private readonly shell: Shell,
  ) {
    this.canvas = element("canvas", {
      class: "wb-canvas",
      tabindex: "0",
      role: "application",
      "data-lm-suppress-shortcuts": "true",
      "data-testid": `memory-${which}`,
      "aria-label": "Memory: arrow keys move, Enter selects, + and - zoom, f shows all, p is the peak",
    });
    keepDrawing(this.canvas, () => {
      const frame = this.frame();
      const calm = frame && { ...frame, theme: PAPER, cursor: null, hovered: null };
      return calm && { ...calm, paint: (pen: Pen, ratio: number) => paintMemory(pen, ratio, calm) };
    });
    this.listen();
    const resized = new ResizeObserver(() => this.repaint());
    resized.observe(this.canvas);
    this.ends = [() => resized.disconnect(), effect(() => this.repaint(board, shell))];
  }

  dispose(): void {
    cancelAnimationFrame(this.waiting);
    for (const end of this.ends) end();
  }

  frame(): MemoryFrame | null {
    const { board, which, shell, canvas } = this;
    const { plans } = board.decoded.value;
    const plan = plans[which];
    const view = { width: canvas.clientWidth, height: canvas.clientHeight };
    if (!plan?.steps || view.width === 0) return null;
    const scale = scaleOf(plans, view);
    const wish = board.window.value ?? { start: scale.first, end: scale.last, top: 0 };
    const placeOf = ({ value }: MemoryBoard["cursor"]) => (value?.which === which ? value.place : null);
    return {
      ...{ plan, scale, which, view, ruler: shell.ruler, theme: shell.theme },
      window: clampWindow(wish, scale, view),
      selected: board.selection.value[which] ?? new Set(),
      cursor: placeOf(board.cursor),
      hovered: placeOf(board.hovered),
    };
  }

  /** Read everything that changes the picture, and paint in the next frame. */
  private repaint(board = this.board, shell = this.shell): void {
    void [board.decoded.value, board.window.value, board.selection.value, board.cursor.value, board.hovered.value];
    void shell.theme;
    cancelAnimationFrame(this.waiting);
    this.waiting = requestAnimationFrame(() => {
      const frame = this.frame();
      if (!frame) return;
      const { canvas } = this;
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(frame.view.width * ratio), Math.round(frame.view.height * ratio)];
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
      paintMemory(contextOf(canvas, { alpha: false }), ratio, frame);
      shell.root.dataset.scenes ??= "1";
    });
  }

  private show({ scale, view }: MemoryFrame, next: Window): void {
    this.board.setWindow(clampWindow(next, scale, view));
  }

  private listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      does: (frame: MemoryFrame, event: HTMLElementEventMap[K]) => void,
    ) => {
      const heard = (event: HTMLElementEventMap[K]) => {
        const frame = this.frame();
        if (frame) does(frame, event);
      };
      this.canvas.addEventListener(name, heard, { passive: false });
    };
    on("wheel", (frame, event) => {
      event.preventDefault();
      const delta = Math.max(-240, Math.min(240, event.deltaY * (event.deltaMode === 1 ? 16 : 1)));
      this.show(frame, zoomWindow(frame, event.offsetX, Math.exp(-delta * 0.0025)));
    });
    on("pointerdown", (_, { pointerId, offsetX, offsetY }) => {
      this.canvas.setPointerCapture(pointerId);
      this.drag = { x: offsetX, y: offsetY, far: 0 };
    });
    on("pointermove", (frame, event) => this.move(frame, event));
    on("pointerup", (frame, { offsetX, offsetY }) => {
      if (this.drag && this.drag.far <= CLICK_SLOP) this.board.choose(this.which, placeAt(frame, offsetX, offsetY));
      this.drag = null;
    });
    on("pointerleave", (frame) => this.point(frame, -1, -1));
    on("keydown", (frame, event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.key(frame, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private move(frame: MemoryFrame, { offsetX: x, offsetY: y }: PointerEvent): void {
    if (!this.drag) return this.point(frame, x, y);
    const [dx, dy] = [x - this.drag.x, y - this.drag.y];
    const far = this.drag.far + Math.abs(dx) + Math.abs(dy);
    this.drag = { x, y, far };
    if (far <= CLICK_SLOP) return;
    const { start, end, top } = frame.window;
    const steps = (dx / frame.view.width) * (end - start);
    this.show(frame, { start: start - steps, end: end - steps, top: top - dy });
  }

  /** Show what is at a point. */
  private point(frame: MemoryFrame, x: number, y: number): void {
    const place = placeAt(frame, x, y);
    this.canvas.classList.toggle("wb-pointing", place !== null);
    this.board.hovered.value = place && { which: this.which, place };
    const lines = place ? describePlace(frame.plan, place).map((line) => oneLine(line)) : [];
    this.shown.value = place && { lines, x, y, view: frame.view };
  }

  private key(frame: MemoryFrame, key: string): boolean {
    const { board, which } = this;
    if (/^(Arrow|Home$|End$|p$)/.test(key)) {
      const place = moved(frame.plan, key === "p" ? null : frame.cursor, key);
      board.cursor.value = { which, place };
      this.show(frame, windowWith(frame, place));
    } else if (key === "Enter") board.choose(which, frame.cursor);
    else if (key === "Escape") board.choose(which, null);
    else if (key === "f") board.setWindow(null);
    else if (key === "+" || key === "-")
      this.show(frame, zoomWindow(frame, frame.view.width / 2, key === "+" ? ZOOM : 1 / ZOOM));
    else return false;
    return true;
  }
}
