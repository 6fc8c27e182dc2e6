/**
 * A memory view. Its board has what its panes share: plans, the window over them, the selected nodes, and the places in use.
 * A pane is a canvas that draws a plan, and turns pointers, wheels and keys into places and windows.
 */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { contextOf, element } from "../components/element.ts";
import { type Shell } from "../components/shell.tsx";
import { type Shown } from "../components/tooltip.tsx";
import { type Sides } from "../model/messages.ts";
import { type Traits } from "../model/traits.ts";
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
import { decodePlan, describePlace, nodesAt, type Place, type Plan } from "../render/memory/plan.ts";
import { PAPER } from "../render/paper.ts";
import { type Pen } from "../render/pen.ts";
import { oneLine } from "../render/text.ts";
import { keepDrawing } from "./still_sender.ts";

const SIDES = ["before", "after"] as const;

/** A place in one of the plans. */
interface Spot {
  which: number;
  place: Place;
}

export class MemoryBoard {
  /** Of the keyboard. */
  readonly cursor = signal<Spot | null>(null);
  /** Of the pointer. */
  readonly hovered = signal<Spot | null>(null);
  readonly decoded: ReadonlySignal<{ plans: readonly Plan[]; trouble: string }>;
  /** Whether there is a plan, or the reason for none. */
  readonly shows = computed(() => this.decoded.value.plans.length > 0 || this.decoded.value.trouble !== "");
  /** null: all kernels. */
  readonly window = signal<Window | null>(null);
  /** Of each plan's graph. */
  readonly selection: ReadonlySignal<readonly ReadonlySet<number>[]>;

  /** `place` is the name of the window's trait. */
  constructor(
    private readonly traits: Traits,
    private readonly place: "viewport" | "memory_viewport" = "viewport",
  ) {
    const [plans, viewport, chosen] = [traits.get("plans"), traits.get(place), traits.get("selection")];
    this.decoded = computed(() => {
      try {
        return { plans: (plans.value ?? []).map(decodePlan), trouble: "" };
      } catch (error) {
        return { plans: [], trouble: error instanceof Error ? error.message : String(error) };
      }
    });
    effect(() => {
      // Places of other plans have no meaning in these.
      void this.decoded.value;
      this.cursor.value = null;
      this.hovered.value = null;
    });
    effect(() => {
      const { start = 0, end = 0, top = 0 } = viewport.value && "end" in viewport.value ? viewport.value : {};
      this.window.value = end > start ? { start, end, top } : null;
    });
    this.selection = computed(() => {
      const { value = {} } = chosen;
      return ("length" in value ? [value] : this.sides().map((side) => value[side])).map((list) => new Set(list));
    });
  }

  setWindow(window: Window | null): void {
    this.window.value = window;
    this.traits.set(this.place, window ?? {});
  }

  /** Put the keyboard at a place, and select its nodes. */
  choose(which: number, place: Place | null): void {
    const plan = this.decoded.peek().plans[which];
    this.cursor.value = place && { which, place };
    if (plan) this.select(which, place ? nodesAt(plan, place) : []);
  }

  select(which: number, nodes: number[]): void {
    const one = Array.isArray(this.traits.get("selection").peek());
    const side = this.sides()[which];
    const [before, after] = SIDES.map((each) => (each === side ? nodes : []));
    this.traits.set("selection", one ? nodes : { before, after });
  }

  /** The sides of the plans, where the selection has sides: one plan is that after. */
  private sides(): readonly (keyof Sides)[] {
    return SIDES.slice(-this.decoded.value.plans.length);
  }
}

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
