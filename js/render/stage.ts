/**
 * The state that panes share: one picture, its scene, one camera, one selection. Whatever changes the picture ends
 * in `refresh`, which asks the worker for places and keeps the old scene on screen until they are there.
 */
import { carriedGroups, carry } from "../graph/carry.ts";
import { initiallyCollapsed } from "../graph/collapse.ts";
import { mutedNodes } from "../graph/muted.ts";
import { changedNodes, neighbourhood } from "../graph/neighbours.ts";
import { EMPTY } from "../graph/payload.ts";
import { single, type Picture } from "../graph/picture.ts";
import { DEFAULT_OPTIONS, visible, type ViewOptions } from "../graph/visible.ts";
import { Arranger } from "./arranger.ts";
import { between, fit, zoomAt, type Camera, type Size } from "./camera.ts";
import { sizes } from "./content.ts";
import { inItems, itemsOf } from "./derive.ts";
import { mutedItems } from "./muted.ts";
import { Events } from "./events.ts";
import { extent, near, openingCamera } from "./first_view.ts";
import { PLAIN, type Look } from "./look.ts";
import { earlier, ease, moved, nearestKept, shift, type Earlier } from "./motion.ts";
import { type Notes } from "./notes.ts";
import { type Overlay } from "./overlay.ts";
import { layoutInput } from "./question.ts";
import { around, buildScene, type Scene } from "./scene.ts";
import { ownSlots, sharedSlots } from "./slots.ts";
import { type Ruler } from "./text.ts";
import { asksToTheRight, swapped, turnedScene, turnedSizes } from "./turned.ts";

const GLIDE_MS = 250;
const FRAME_MS = 1000 / 60;

/** Which way the data flows. */
export type Direction = "down" | "right";

export interface StageEvents extends Record<string, unknown> {
  select: { nodes: number[] };
  hover: number;
  collapsed: ReadonlySet<number>;
  viewport: Camera;
  scene: Scene;
  painted: number;
  busy: string | null;
  /** Whether only what changed is shown, and the colours of edges: both have more than one way in. */
  changedOnly: boolean;
  edges: Look["edges"];
}

export class Stage {
  readonly events = new Events<StageEvents>();
  picture: Picture = single(EMPTY);
  scene: Scene | null = null;
  camera: Camera = { x: 0, y: 0, scale: 1 };
  look: Look = PLAIN;
  options: ViewOptions = DEFAULT_OPTIONS;
  changedOnly = false;
  hops = 1;
  direction: Direction = "down";
  /** Whether both sides are drawn over each other, so that no two items may share a place. */
  apart = false;
  before: Earlier | null = null;
  progress = 1;
  /** Nodes selected, in the picture's numbering. */
  selection: number[] = [];
  hoveredNode = -1;
  view: Size = { width: 600, height: 400 };
  private found: number[] | null = null;
  private overlay: Overlay | null = null;
  private notes: Notes | null = null;
  private muted: readonly string[] = [];
  private readonly painters = new Set<() => void>();
  private readonly arranger = new Arranger();
  private pending = 0;
  private cameraFrom: Camera | null = null;
  private cameraTo: Camera | null = null;
  private startedAt = 0;
  private sized = false;
  private touched = false;
  private serial = 0;
  /** From the picture on screen to the one that is being arranged. */
  private carried: Int32Array | null = null;

  constructor(public ruler: Ruler) {}

  // ---- what is shown -------------------------------------------------------------------------------------------

  setPicture(picture: Picture, collapsed?: ReadonlySet<number>): Promise<void> {
    const old = this.picture;
    const nodes = this.scene ? carry(old, picture) : null;
    // The picture on screen is an older one where this one overtakes another.
    const shown = this.scene?.visible.picture;
    this.carried = shown && shown !== old ? carry(shown, picture) : nodes;
    const kept = nodes ? new Set<number>() : null;
    if (nodes && kept) for (let u = 0; u < nodes.length; u++) if (this.selection.includes(nodes[u])) kept.add(u);
    this.picture = picture;
    this.found = null;
    this.hoveredNode = -1;
    const start = collapsed ?? carriedCollapse(old, picture, nodes, this.options);
    this.options = { ...this.options, collapsed: start };
    this.selection = kept ? [...kept] : [];
    this.events.emit("collapsed", start);
    this.events.emit("select", { nodes: this.selection });
    return this.refresh({});
  }

  setOptions(change: Partial<ViewOptions>, anchor?: number): Promise<void> {
    this.options = { ...this.options, ...change };
    if (change.collapsed) this.events.emit("collapsed", change.collapsed);
    return this.refresh(anchor === undefined ? {} : { anchor });
  }

  toggleGroup(group: number): void {
    const collapsed = new Set(this.options.collapsed);
    if (!collapsed.delete(group)) collapsed.add(group);
    void this.setOptions({ collapsed }, group);
  }

  setChangedOnly(on: boolean, hops = this.hops): void {
    if (on === this.changedOnly && hops === this.hops) return;
    const same = !on && !this.changedOnly;
    this.changedOnly = on;
    this.hops = hops;
    this.events.emit("changedOnly", on);
    if (same) return;
    // What was in the middle may be gone or elsewhere; a selection is worth staying with, otherwise the beginning is.
    void this.refresh({ reopen: this.selection.length === 0 });
  }

  setApart(on: boolean): void {
    if (on === this.apart) return;
    this.apart = on;
    void this.refresh({});
  }

  setDirection(direction: Direction): void {
    this.direction = direction;
    // Where one was has gone elsewhere.
    void this.refresh({ reopen: true, turn: true });
  }

  private async refresh(how: { anchor?: number; reopen?: boolean; turn?: boolean }): Promise<void> {
    const serial = ++this.serial;
    const busy = setTimeout(() => this.events.emit("busy", `Arranging ${this.picture.nodeCount.toLocaleString("en")} nodes`), 300);
    try {
      const only = this.changedOnly ? neighbourhood(this.picture, changedNodes(this.picture), this.hops) : undefined;
      const { only: _none, ...rest } = this.options;
      const shown = visible(this.picture, only ? { ...rest, only } : rest);
      const size = sizes(shown, this.ruler);
      const old = this.scene;
      const nodes = (old?.visible.picture !== this.picture && this.carried) || identity(this.picture.nodeCount);
      const was = old ? earlier(old, { visible: shown }, nodes) : null;
      const slots = this.picture.compares && !this.apart ? sharedSlots(shown) : ownSlots(shown);
      const right = this.direction === "right";
      const laid = right ? turnedSizes(size) : size;
      const down = layoutInput(shown, laid, this.ruler, slots, was && old?.turned ? swapped(was.seed) : was?.seed);
      const question = right ? asksToTheRight(down) : down;
      const result = await this.arranger.run(question.input);
      if (result === null || serial !== this.serial) return;
      const built = buildScene(shown, laid, question, result);
      const scene = right ? turnedScene(built, size) : built;
      this.scene = scene;
      this.muteAgain();
      this.lookAgain();
      if (how.turn && this.selection.length === 0) this.touched = false;
      this.glide(scene, was, how.anchor, how.reopen);
      this.events.emit("scene", scene);
      this.repaint();
    } finally {
      clearTimeout(busy);
      if (serial === this.serial) this.events.emit("busy", null);
    }
  }

  private glide(scene: Scene, was: Earlier | null, anchor: number | undefined, reopen = false): void {
    if (!was) {
      this.before = null;
      this.progress = 1;
      if (this.sized && !this.touched) this.camera = openingCamera(scene, this.view);
      return;
    }
    let delta = anchor !== undefined ? shift(scene, was, { group: anchor }) : null;
    if (!delta && !reopen) {
      const item = nearestKept(scene, was, this.camera.x, this.camera.y);
      delta = item >= 0 ? moved(scene, was, item) : null;
    }
    const from = this.camera;
    const held = delta && { ...from, x: from.x + delta[0], y: from.y + delta[1] };
    this.before = was;
    if (held && (this.touched || anchor !== undefined)) return this.animate(from, held);
    // Until somebody has moved the camera, a new picture is shown as a first one would be, unless that is where one is.
    const first = openingCamera(scene, this.view);
    this.animate(from, held && near(held, first, this.view) ? held : first);
  }

  private animate(from: Camera, to: Camera): void {
    const still = typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.cameraFrom = from;
    this.cameraTo = to;
    this.startedAt = NaN;
    this.progress = still ? 1 : 0;
    if (still) this.camera = to;
    this.repaint();
  }

  /** Moves the clock of a glide; true while it still runs. */
  tick(now: number): boolean {
    if (this.progress >= 1) return false;
    // The clock starts with the first frame, which is a step on its way: a frame of where things were would show nothing new.
    if (Number.isNaN(this.startedAt)) this.startedAt = now - FRAME_MS;
    const part = Math.min(1, Math.max(0, (now - this.startedAt) / GLIDE_MS));
    this.progress = part >= 1 ? 1 : ease(part);
    if (this.cameraFrom && this.cameraTo) this.camera = between(this.cameraFrom, this.cameraTo, this.progress);
    if (this.progress >= 1) {
      this.before = null;
      this.events.emit("viewport", this.camera);
    }
    return this.progress < 1;
  }

  // ---- camera --------------------------------------------------------------------------------------------------

  resize(view: Size): void {
    this.view = view;
    if (!this.sized && view.width > 0) {
      this.sized = true;
    }
    // Until somebody has moved the camera, the first view is that of the room there is.
    if (this.scene && !this.touched && view.width > 0) {
      if (this.progress < 1) this.cameraTo = openingCamera(this.scene, view);
      else this.camera = openingCamera(this.scene, view);
    }
    this.repaint();
  }

  setCamera(camera: Camera, byHand = true): void {
    this.touched ||= byHand;
    this.camera = camera;
    if (this.progress < 1) {
      // A hand on the picture ends the glide: two movers at once would fight.
      this.progress = 1;
      this.before = null;
    }
    this.events.emit("viewport", camera);
    this.repaint();
  }

  pan(dx: number, dy: number): void {
    this.setCamera({ ...this.camera, x: this.camera.x - dx / this.camera.scale, y: this.camera.y - dy / this.camera.scale });
  }

  zoom(factor: number, x = this.view.width / 2, y = this.view.height / 2): void {
    this.setCamera(zoomAt(this.camera, this.view, x, y, factor));
  }

  glideTo(camera: Camera): void {
    this.touched = true;
    this.before = null;
    this.animate(this.camera, camera);
  }

  fit(): void {
    if (this.scene) this.glideTo(fit(extent(this.scene), this.view));
  }

  home(): void {
    if (this.scene) this.glideTo(openingCamera(this.scene, this.view));
  }

  fitItems(items: Iterable<number>): void {
    const box = this.scene ? around(this.scene, items) : null;
    if (box) this.glideTo(fit(box, this.view, 1, 60));
  }

  /** Brings an item into view without changing the zoom more than needed. */
  follow(item: number): void {
    const { scene, camera, view } = this;
    if (!scene || item < 0) return;
    const scale = Math.max(camera.scale, 0.65);
    const w = view.width / 2 / camera.scale - scene.size.width[item] / 2 - 20;
    const h = view.height / 2 / camera.scale - scene.size.height[item] / 2 - 20;
    const inside = Math.abs(scene.x[item] - camera.x) <= w && Math.abs(scene.y[item] - camera.y) <= h;
    if (!inside || scale !== camera.scale) this.glideTo({ x: scene.x[item], y: scene.y[item], scale });
  }

  // ---- selection, hover, search, overlay -----------------------------------------------------------------------

  select(nodes: number[]): void {
    this.selection = nodes;
    this.lookAgain();
    this.events.emit("select", { nodes });
    this.repaint();
  }

  hover(item: number, group = -1, edge = -1): void {
    if (item === this.look.hovered && group === this.look.hoveredGroup && edge === this.look.hoveredEdge) return;
    this.hoveredNode = item >= 0 && this.scene ? this.scene.visible.node[item] : -1;
    this.look = { ...this.look, hovered: item, hoveredGroup: group, hoveredEdge: edge };
    this.lookAgain();
    this.events.emit("hover", this.hoveredNode);
    this.repaint();
  }

  /** The pointer's place as Python sets it; -1 for none. */
  hoverNode(u: number): void {
    const item = u >= 0 ? this.scene?.visible.itemOf[u] ?? -1 : -1;
    this.hover(item);
  }

  setFound(nodes: number[] | null): void {
    this.found = nodes;
    this.lookAgain();
    this.repaint();
  }

  setEdges(edges: Look["edges"]): void {
    if (edges === this.look.edges) return;
    this.look = { ...this.look, edges };
    this.events.emit("edges", edges);
    this.repaint();
  }

  /** Draws some op types and marks faintly: what they are called is in graph/muted.ts. */
  setMuted(names: readonly string[]): void {
    this.muted = names;
    this.muteAgain();
    this.repaint();
  }

  private muteAgain(): void {
    if (!this.scene) return;
    const { visible } = this.scene;
    const nodes = mutedNodes(visible.picture, this.muted);
    this.look = { ...this.look, mutedNodes: nodes, muted: nodes && mutedItems(visible, nodes) };
  }

  setOverlay(overlay: Overlay | null): void {
    this.overlay = overlay;
    this.lookAgain();
    this.repaint();
  }

  setNotes(notes: Notes | null): void {
    this.notes = notes;
    this.lookAgain();
    this.repaint();
  }

  /** Opens whatever hides some nodes, then selects and shows them. */
  async reveal(nodes: number[], zoom = true): Promise<void> {
    const collapsed = new Set(this.options.collapsed);
    let opened = false;
    for (const u of nodes) for (let g = this.picture.group[u] ?? -1; g >= 0; g = this.picture.groups.parent[g]) opened = collapsed.delete(g) || opened;
    const hidden = this.changedOnly && nodes.some((u) => !this.isDrawn(u));
    if (hidden) {
      this.changedOnly = false;
      this.events.emit("changedOnly", false);
    }
    if (opened || hidden) await this.setOptions({ collapsed });
    this.select(nodes);
    const items = this.itemsOf(nodes);
    if (items.length === 1 && !zoom) this.follow(items[0]);
    else this.fitItems(items);
  }

  /** "Changed only" has one pill for each stretch of what it leaves out. */
  private isDrawn(u: number): boolean {
    const item = this.scene?.visible.itemOf[u] ?? -1;
    return item >= 0 && this.scene!.visible.gap[item] === 0;
  }

  itemsOf(nodes: readonly number[]): number[] {
    return this.scene ? itemsOf(this.scene, nodes) : [];
  }

  private lookAgain(): void {
    const { scene, selection, hoveredNode, found, overlay, notes } = this;
    if (scene) this.look = inItems(this.look, scene, { selection, hoveredNode, found, overlay, notes });
  }

  // ---- painting ------------------------------------------------------------------------------------------------

  addPainter(paint: () => void): () => void {
    this.painters.add(paint);
    this.repaint();
    return () => this.painters.delete(paint);
  }

  repaint(): void {
    if (this.pending) return;
    this.pending = requestAnimationFrame((now) => {
      this.pending = 0;
      const running = this.tick(now);
      for (const paint of this.painters) paint();
      this.events.emit("painted", now);
      if (running) this.repaint();
    });
  }

  dispose(): void {
    if (this.pending) cancelAnimationFrame(this.pending);
    this.painters.clear();
    this.arranger.dispose();
    this.serial++;
  }
}

/** A group that was opened or closed by hand stays so in the next picture; new ones start as a first picture would. */
function carriedCollapse(old: Picture, next: Picture, nodes: Int32Array | null, options: ViewOptions): Set<number> {
  const start = initiallyCollapsed(next, options.showConstants);
  if (!nodes) return start;
  carriedGroups(old, next, nodes).forEach((was, g) => {
    if (was < 0) return;
    if (options.collapsed.has(was)) start.add(g);
    else start.delete(g);
  });
  return start;
}

function identity(count: number): Int32Array {
  const out = new Int32Array(count);
  for (let i = 0; i < count; i++) out[i] = i;
  return out;
}
