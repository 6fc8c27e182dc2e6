/** One canvas on a stage: draws its side, turns pointers, wheels and keys into what the stage does. */
import { between, step, stream, type Arrow } from "../graph/neighbours.ts";
import { type Frame } from "../render/frame.ts";
import { hit, NOTHING, type Hit } from "../render/hit.ts";
import { paint } from "../render/paint.ts";
import { type Stage } from "../render/stage.ts";
import { type Theme } from "../render/theme.ts";
import { h } from "./dom.ts";
import { Minimap } from "./minimap.ts";
import { Still } from "./still.ts";
import { Tooltip } from "./tooltip.ts";

const CLICK_SLOP = 4;

export interface PaneOptions {
  sides: 1 | 2 | 3;
  name: string;
  testid: string;
  minimap: boolean;
}

export class Pane {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  /** Told of keys the pane has no use for (search, undo, help ...). */
  onkey: (event: KeyboardEvent) => boolean = () => false;
  private readonly context: CanvasRenderingContext2D;
  private readonly tooltip: Tooltip;
  private readonly minimap: Minimap | null;
  private readonly still: Still;
  private readonly ends: (() => void)[] = [];
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private dragged = 0;
  private pinch = 0;
  private width = 0;
  private height = 0;

  constructor(private readonly stage: Stage, private theme: Theme, readonly options: PaneOptions) {
    this.canvas = h("canvas", {
      class: "wb-canvas", tabindex: "0", role: "application", "data-testid": options.testid,
      "aria-label": `Graph ${options.name}: arrow keys move along edges, Enter opens and closes a group, ? lists the keys`,
    });
    this.context = this.canvas.getContext("2d", { alpha: false })!;
    this.tooltip = new Tooltip();
    this.still = new Still(() => stage.repaint());
    this.minimap = options.minimap ? new Minimap(stage, theme, options.sides) : null;
    this.element = h("div", { class: "wb-pane" }, this.canvas, this.minimap?.element, this.tooltip.element);
    this.ends.push(stage.addPainter(() => this.paint()));
    this.listen();
    const resized = new ResizeObserver(() => this.resize());
    resized.observe(this.element);
    this.ends.push(() => resized.disconnect());
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.minimap?.setTheme(theme);
    this.stage.repaint();
  }

  frame(): Frame | null {
    const { stage } = this;
    if (!stage.scene || this.width === 0) return null;
    return {
      scene: stage.scene, camera: stage.camera, view: { width: this.width, height: this.height }, theme: this.theme, ruler: stage.ruler,
      look: stage.look, sides: this.options.sides, textSide: this.options.sides === 1 ? 0 : 1, t: stage.progress, earlier: stage.before,
    };
  }

  private paint(): void {
    const frame = this.frame();
    if (!frame) return;
    const ratio = window.devicePixelRatio || 1;
    const [w, hh] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== hh) {
      this.canvas.width = w;
      this.canvas.height = hh;
    }
    this.still.draw(this.context, ratio, frame, () => paint(this.context, ratio, frame));
    this.minimap?.paint(frame);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (clientWidth === this.width && clientHeight === this.height) return;
    this.width = clientWidth;
    this.height = clientHeight;
    this.stage.resize({ width: clientWidth, height: clientHeight });
  }

  private listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(name: K, does: (event: HTMLElementEventMap[K]) => void, options?: AddEventListenerOptions) => {
      this.canvas.addEventListener(name, does as EventListener, options);
    };
    on("wheel", (event) => this.wheel(event), { passive: false });
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.pointers.delete(event.pointerId));
    on("pointerleave", () => { this.tooltip.hide(); if (this.pointers.size === 0) this.stage.hover(-1); });
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
    const { scene, camera, ruler } = this.stage;
    return scene ? hit(scene, camera, { width: this.width, height: this.height }, x, y, this.options.sides, ruler) : NOTHING;
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    event.stopPropagation();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.height : 1;
    this.tooltip.hide();
    if (event.shiftKey) return this.stage.pan(-(event.deltaX || event.deltaY) * unit, 0);
    const { x, y } = this.point(event);
    // A pinch on a trackpad comes as small ctrl-wheel steps.
    const speed = event.ctrlKey ? 0.01 : 0.0016;
    this.stage.zoom(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * speed), x, y);
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
      if (this.pinch > 0) this.stage.zoom(spread / this.pinch, now.x, now.y);
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
    const found = this.at(event);
    if (found.chevron) return this.toggle(found);
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    if (found.badge >= 0) return this.pick([found.badge], more);
    if (found.item >= 0) return this.pick(this.nodesOf(found.item), more);
    if (found.group >= 0) return this.pick(this.nodesIn(found.group), more);
    if (found.edge >= 0) {
      const { source, target } = this.stage.scene!.visible;
      return this.pick([source[found.edge], target[found.edge]].flatMap((i) => this.nodesOf(i)), more);
    }
    if (!more) this.stage.select([]);
  }

  private pick(nodes: number[], more: boolean): void {
    if (!more) return this.stage.select(nodes);
    const set = new Set(this.stage.selection);
    const all = nodes.every((u) => set.has(u));
    for (const u of nodes) if (all) set.delete(u); else set.add(u);
    this.stage.select([...set]);
  }

  private nodesOf(item: number): number[] {
    const visible = this.stage.scene!.visible;
    if (visible.node[item] >= 0) return [visible.node[item]];
    if (visible.collapsedGroup[item] >= 0) return this.nodesIn(visible.collapsedGroup[item]);
    return [...visible.itemOf.keys()].filter((u) => visible.itemOf[u] === item);
  }

  private nodesIn(group: number): number[] {
    const { picture } = this.stage;
    const out: number[] = [];
    for (let u = 0; u < picture.nodeCount; u++) {
      for (let g = picture.group[u]; g >= 0; g = picture.groups.parent[g]) if (g === group) { out.push(u); break; }
    }
    return out;
  }

  private toggle(found: Hit): void {
    this.tooltip.hide();
    if (found.group < 0) return;
    // The clicks of a double-click have selected all that is in the group; opening it is not about that.
    if (this.stage.selection.length > 0) this.stage.select([]);
    this.stage.toggleGroup(found.group);
  }

  // ---- keys ----------------------------------------------------------------------------------------------------

  private key(event: KeyboardEvent): void {
    if (event.key === "Tab") return;
    // Jupyter's single-letter shortcuts (delete a cell, say) must not fire while the graph has the focus.
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.graphKey(event.key) || this.onkey(event)) event.preventDefault();
  }

  private graphKey(key: string): boolean {
    const { stage } = this;
    switch (key) {
      case "ArrowUp": case "ArrowDown": case "ArrowLeft": case "ArrowRight":
        this.walk(key.slice(5).toLowerCase() as Arrow);
        return true;
      case "Enter": return this.enter();
      case "f": stage.fit(); return true;
      case "h": stage.home(); return true;
      case "s": stage.fitItems(stage.look.selected); return true;
      case "+": case "=": stage.zoom(1.25); return true;
      case "-": stage.zoom(0.8); return true;
      case "Escape": return this.escape();
      case "[": return this.flow("up");
      case "]": return this.flow("down");
      case "p": return this.paths();
      case "t": stage.setEdges(stage.look.edges === "dtype" ? "diff" : "dtype"); return true;
      case "m": this.minimap?.toggle(); return true;
      default: return false;
    }
  }

  private flow(way: "up" | "down"): boolean {
    const { selection, picture } = this.stage;
    if (selection.length > 0) this.stage.select(stream(picture, selection, way, this.options.sides));
    return selection.length > 0;
  }

  private paths(): boolean {
    const { selection, picture } = this.stage;
    const found = selection.length > 1 && selection.length <= 50 ? between(picture, selection, this.options.sides) : [];
    if (found.length > 0) this.stage.select(found);
    return found.length > 0;
  }

  private walk(arrow: Arrow): void {
    const { scene } = this.stage;
    if (!scene) return;
    const from = [...this.stage.look.selected].pop() ?? -1;
    const to = step(scene.visible, scene.x, scene.y, from, arrow, this.options.sides);
    if (to < 0) return;
    this.stage.select(this.nodesOf(to));
    this.stage.follow(to);
  }

  /** Opens the selected group; closes the innermost one around a selected node. */
  private enter(): boolean {
    const { scene, look } = this.stage;
    const item = [...look.selected].pop() ?? -1;
    if (!scene || item < 0) return false;
    const box = scene.visible.collapsedGroup[item];
    const around = scene.visible.parent[item] >= 0 ? scene.visible.open[scene.visible.parent[item]] : -1;
    if (box < 0 && around < 0) return false;
    this.stage.toggleGroup(box >= 0 ? box : around);
    return true;
  }

  private escape(): boolean {
    if (this.stage.look.found) { this.stage.setFound(null); return false; }
    if (this.stage.selection.length === 0) return false;
    this.stage.select([]);
    return true;
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.still.dispose();
    this.tooltip.hide();

  }
}

