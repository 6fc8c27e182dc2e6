/** One canvas on a stage: draws its side, turns pointers, wheels and keys into what the stage does. */
import { createElement } from "preact";
import { copy } from "../components/copy.tsx";
import { contextOf, element } from "../components/element.ts";
import { press } from "../components/keys_card.tsx";
import { elementOf } from "../components/mount.tsx";
import { Tooltip, TooltipCard } from "../components/tooltip.tsx";
import { nodesAsText } from "../graph/describe.ts";
import { toScreen } from "../render/camera.ts";
import { type Frame } from "../render/frame.ts";
import { type Hit, hit, NOTHING } from "../render/hit.ts";
import { paint } from "../render/paint.ts";
import { type Stage } from "../render/stage.ts";
import { graphDrawing } from "../render/still.ts";
import { type Theme } from "../render/theme.ts";
import { counted } from "../text/counted.ts";
import { endsOf, GRAPH_KEYS, nodesIn, nodesOf } from "./graph_keys.ts";
import { Minimap } from "./minimap.ts";
import { keepDrawing } from "./still_sender.ts";

const CLICK_SLOP = 4;

export interface PaneOptions {
  sides: 1 | 2 | 3;
  name: string;
  testid: string;
  minimap: boolean;
}

function isCopy(event: KeyboardEvent): boolean {
  return (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "c";
}

/** To the last pixel: a pane that is not a whole number of pixels high is painted up to one pixel short of it. */
export function clear(context: CanvasRenderingContext2D, background: string): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = background;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
}

export class Pane {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  /** Called with keys that the pane has no use for (search, undo, help ...). */
  onkey: (event: KeyboardEvent) => boolean = () => false;
  /** Shows words, and has them spoken. */
  onsay: (words: string) => void = () => undefined;
  /** Called on a click on an edge; false where it is to select both ends. */
  onedge: (edge: number) => boolean = () => false;
  private readonly context: CanvasRenderingContext2D;
  private readonly tooltip = new Tooltip();
  private readonly minimap: Minimap | null;
  private readonly cached: CachedFrame;
  private readonly ends: (() => void)[] = [];
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private dragged = 0;
  private pinch = 0;
  private width = 0;
  private height = 0;
  private pixels: [number, number] | null = null;

  constructor(
    readonly stage: Stage,
    private theme: Theme,
    readonly options: PaneOptions,
  ) {
    this.canvas = element("canvas", {
      class: "wb-canvas",
      tabindex: "0",
      role: "application",
      // See mount.tsx.
      "data-lm-suppress-shortcuts": "true",
      "data-testid": options.testid,
      "aria-label": `${["Graph", options.name].filter(Boolean).join(" ")}: arrow keys move along edges, Enter opens and closes a group, ? lists the keys`,
    });
    keepDrawing(this.canvas, () => {
      const frame = this.frame();
      return frame && graphDrawing(frame);
    });
    this.context = contextOf(this.canvas, { alpha: false });
    this.cached = new CachedFrame(() => stage.repaint());
    this.minimap = options.minimap ? new Minimap(stage, theme, options.sides) : null;
    const tooltip = elementOf(createElement(TooltipCard, { tooltip: this.tooltip }));
    const over = this.minimap ? [this.minimap.element, tooltip] : [tooltip];
    this.element = element("div", { class: "wb-pane" }, this.canvas, ...over);
    this.ends.push(stage.addPainter(() => this.paint()));
    this.listen();
    const resized = new ResizeObserver((entries) => {
      const [exact] = entries.at(-1)?.devicePixelContentBoxSize ?? [];
      this.pixels = exact ? [exact.inlineSize, exact.blockSize] : null;
      this.resize();
    });
    try {
      // Half a pixel that two panes share goes to one of them: only the browser knows which, and a canvas of another size is blurred.
      resized.observe(this.canvas, { box: "device-pixel-content-box" });
    } catch {
      resized.observe(this.canvas);
    }
    this.ends.push(
      () => resized.disconnect(),
      () => stage.sizes.delete(this),
    );
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.minimap?.setTheme(theme);
    this.stage.repaint();
  }

  frame(): Frame | null {
    const { width, height } = this;
    return width === 0 ? null : this.stage.frameFor({ width, height }, this.theme, this.options.sides);
  }

  private paint(): void {
    const frame = this.frame();
    if (!frame) return;
    const ratio = window.devicePixelRatio || 1;
    // An emulated screen (a browser's developer tools) counts them as if its ratio were 1.
    const exact = this.pixels && Math.abs(this.pixels[0] - this.width * ratio) < 2 ? this.pixels : null;
    const [w, hh] = exact ?? [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== hh) {
      this.canvas.width = w;
      this.canvas.height = hh;
    }
    this.cached.draw(this.context, ratio, frame, () => {
      clear(this.context, frame.theme.background);
      paint(this.context, ratio, frame);
    });
    this.minimap?.paint(frame);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === this.width && clientHeight === this.height) return this.stage.repaint();
    this.width = clientWidth;
    this.height = clientHeight;
    this.stage.resize({ width: clientWidth, height: clientHeight }, this);
  }

  private listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      does: (event: HTMLElementEventMap[K]) => void,
      options?: AddEventListenerOptions,
    ) => {
      this.canvas.addEventListener(name, does as EventListener, options);
    };
    on("wheel", (event) => this.wheel(event), { passive: false });
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.pointers.delete(event.pointerId));
    on("pointerleave", () => {
      this.tooltip.hide();
      if (this.pointers.size === 0) this.stage.hover(-1);
    });
    on("dblclick", (event) => this.toggle(this.at(event)));
    on("keydown", (event) => this.key(event));
    // The notebook's own menu belongs to the cell, not to the graph.
    on("contextmenu", (event) => event.stopPropagation());
  }

  private point(event: MouseEvent): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private at(event: MouseEvent): Hit {
    const { x, y } = this.point(event);
    const { width, height } = this;
    const { current: scene, camera, ruler } = this.stage;
    const { sides } = this.options;
    return scene ? hit({ scene, camera, view: { width, height }, sides, ruler }, x, y) : NOTHING;
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    event.stopPropagation();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.height : 1;
    this.tooltip.hide();
    if (event.shiftKey) return this.stage.pan(-(event.deltaX || event.deltaY) * unit, 0);
    // A pinch on a trackpad comes as small ctrl-wheel steps.
    const speed = event.ctrlKey ? 0.01 : 0.0016;
    this.zoom(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * speed), this.point(event));
  }

  /** Around a point of this pane, which may be larger than the stage's view. */
  private zoom(factor: number, { x, y }: { x: number; y: number }): void {
    const { stage, width, height } = this;
    stage.zoom(factor, x + (stage.view.width - width) / 2, y + (stage.view.height - height) / 2);
  }

  private down(event: PointerEvent): void {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.point(event));
    this.dragged = 0;
    this.pinch = this.spread();
    this.tooltip.hide();
  }

  private spread(): number {
    const [a, b] = [...this.pointers.values()];
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }

  private move(event: PointerEvent): void {
    const was = this.pointers.get(event.pointerId);
    const now = this.point(event);
    if (!was) return this.hover(event, now);
    this.pointers.set(event.pointerId, now);
    if (this.pointers.size > 1) {
      const spread = this.spread();
      if (this.pinch > 0) this.zoom(spread / this.pinch, now);
      this.pinch = spread;
      this.dragged = CLICK_SLOP + 1;
      return;
    }
    this.dragged += Math.abs(now.x - was.x) + Math.abs(now.y - was.y);
    if (this.dragged <= CLICK_SLOP) return;
    this.canvas.classList.add("wb-dragging");
    this.stage.pan(now.x - was.x, now.y - was.y);
  }

  private hover(event: PointerEvent, now: { x: number; y: number }): void {
    const found = this.at(event);
    this.stage.hover(found.item, found.item < 0 ? found.group : -1, found.edge);
    this.canvas.classList.toggle("wb-pointing", found.item >= 0 || found.group >= 0);
    const frame = this.frame();
    if (frame) this.tooltip.show(frame, found, now);
  }

  private up(event: PointerEvent): void {
    const was = this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("wb-dragging");
    if (was && this.dragged <= CLICK_SLOP && event.button === 0) this.click(event);
  }

  private click(event: PointerEvent): void {
    if (!this.stage.current) return;
    const found = this.at(event);
    if (found.chevron) return this.toggle(found);
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    if (found.badge >= 0) return this.pick([found.badge], more);
    if (found.item >= 0) return this.pick(nodesOf(this.stage, found.item), more);
    if (found.group >= 0) return this.pick(nodesIn(this.stage, found.group), more);
    if (found.edge >= 0) {
      if (!more && this.onedge(found.edge)) return;
      return this.pick(endsOf(this.stage, found.edge), more);
    }
    if (!more) this.stage.select([]);
  }

  private pick(nodes: number[], more: boolean): void {
    if (!more) return this.stage.select(nodes);
    const set = new Set(this.stage.selection);
    const all = nodes.every((u) => set.has(u));
    for (const u of nodes)
      if (all) set.delete(u);
      else set.add(u);
    this.stage.select([...set]);
  }

  private toggle(found: Hit): void {
    this.tooltip.hide();
    if (found.group < 0) return;
    // The clicks of a double-click have selected all that is in the group; opening it is not about that.
    if (this.stage.selection.length > 0) this.stage.select([]);
    this.stage.toggleGroup(found.group);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Tab") return;
    if (isCopy(event) && this.copy()) return event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Jupyter's single-letter shortcuts (delete a cell, say) must not fire while the graph has the focus.
    event.stopPropagation();
    const { stage, minimap } = this;
    if (press(GRAPH_KEYS, event, { stage, minimap, sides: this.options.sides }) || this.onkey(event))
      event.preventDefault();
  }

  /** Copies the text of the selected nodes, unless a text is selected on the page. */
  private copy(): boolean {
    const { picture, selection } = this.stage;
    if (selection.length === 0 || getSelection()?.toString()) return false;
    void copy(nodesAsText(picture, selection)).then((done) =>
      this.onsay(done ? `Copied ${counted(selection.length, "node")}` : "This page may not use the clipboard."),
    );
    return true;
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.cached.dispose();
    this.tooltip.hide();
  }
}

const COSTLY_MS = 20;
const REST_MS = 110;

/**
 * A frame too costly to draw sixty times a second (fifty thousand boxes in view at once) is drawn once, and while the
 * camera moves its picture is moved instead; when the hand rests it is drawn again, sharp.
 */
class CachedFrame {
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
    clear(context, frame.theme.background);
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
