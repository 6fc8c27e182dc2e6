/**
 * The state that panes share: one picture, its scene, one camera, one selection. Whatever changes the picture ends
 * in `refresh`, which asks the worker for places and keeps the old scene on screen until they are there.
 */
import { carriedGroups, carry } from "../graph/carry.ts";
import { initiallyCollapsed, scopesClosed } from "../graph/collapse.ts";
import { numbersTo } from "../graph/csr.ts";
import { mutedNodes } from "../graph/muted.ts";
import { changedNodes, neighbourhood } from "../graph/neighbours.ts";
import { EMPTY } from "../graph/payload.ts";
import { type Picture, single } from "../graph/picture.ts";
import { DEFAULT_OPTIONS, type ViewOptions, visible } from "../graph/visible.ts";
import { Arranger } from "../layout/client.ts";
import { type LayoutInput, type LayoutResult } from "../layout/types.ts";
import { between, type Camera, fit, type Size, zoomAt } from "./camera.ts";
import { sizes } from "./content.ts";
import { Events } from "./events.ts";
import { extent, firstChange, fitsWhole, framed, openingCamera, shows } from "./first_view.ts";
import { type Frame } from "./frame.ts";
import { inItems, itemsOf, type Look, mutedItems, type Notes, PLAIN } from "./look.ts";
import { type Earlier, earlier, ease, looksStill, moved, nearestKept, shift } from "./motion.ts";
import { type Overlay } from "./overlay.ts";
import { layoutInput, ownSlots, sameInput, sharedSlots } from "./question.ts";
import { around, asksToTheRight, buildScene, type Scene, swapped, turnedScene, turnedSizes } from "./scene.ts";
import { type Ruler } from "./text.ts";
import { type Theme } from "./theme.ts";

const GLIDE_MS = 250;
const FRAME_MS = 1000 / 60;

/** Which way the data flows. */
type Direction = "down" | "right";

interface StageEvents extends Record<string, unknown> {
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
  look: Look;
  /** The error of the last arrangement; null once one has come. */
  failed: Error | null;
}

export class Stage {
  readonly events = new Events<StageEvents>();
  picture: Picture = single(EMPTY);
  scene: Scene | null = null;
  camera: Camera = { x: 0, y: 0, scale: 1 };
  private looked: Look = PLAIN;
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
  /** Of the panes. */
  readonly sizes = new Map<object, Size>();
  private readonly painters = new Set<() => void>();
  private readonly arranger = new Arranger();
  private pending = 0;
  private cameraFrom: Camera | null = null;
  private cameraTo: Camera | null = null;
  private startedAt = 0;
  private sized = false;
  /** Whether the camera was moved since the first view, by hand or by a key. */
  private touched = false;
  /** The view that a new size of the pane asks for again; null once a hand has moved the camera. */
  private framing: ((scene: Scene, view: Size) => Camera) | null = null;
  /** Whether the stage decides which groups of the first picture are open: it depends on the room. */
  private choosing = false;
  /** Nodes that code has selected before there was a scene to frame them in. */
  private asked: readonly number[] = [];
  private serial = 0;
  /** The layout's last question and its answer. */
  private answered: { input: LayoutInput; result: LayoutResult } | null = null;
  /** From the picture on screen to the one that is being arranged. */
  private carried: Int32Array | null = null;

  constructor(public ruler: Ruler) {}

  /** The scene, once it is of the picture; null while that is being arranged and an older one is on screen. */
  get current(): Scene | null {
    return this.scene?.visible.picture === this.picture ? this.scene : null;
  }

  get look(): Look {
    return this.looked;
  }

  set look(look: Look) {
    this.looked = look;
    this.events.emit("look", look);
  }

  // ---- what is shown -------------------------------------------------------------------------------------------

  setPicture(picture: Picture, collapsed?: ReadonlySet<number>): Promise<void> {
    const old = this.picture;
    const kept = this.scene ? carry(old, picture, this.selection) : null;
    const nodes = kept?.nodes ?? null;
    // The picture on screen is an older one where this one overtakes another.
    const shown = this.scene?.visible.picture;
    this.carried = shown && shown !== old ? carry(shown, picture).nodes : nodes;
    this.picture = picture;
    this.found = null;
    this.hoveredNode = -1;
    const start = collapsed ?? carriedCollapse(old, picture, nodes, this.options);
    this.options = { ...this.options, collapsed: start };
    this.selection = kept?.selection ?? [];
    this.choosing = collapsed === undefined && (this.choosing || !this.scene?.visible.count);
    this.asked = [];
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
    const busy = setTimeout(
      () => this.events.emit("busy", `Arranging ${this.picture.nodeCount.toLocaleString("en")} nodes`),
      300,
    );
    try {
      const only = this.changedOnly ? neighbourhood(this.picture, changedNodes(this.picture), this.hops) : undefined;
      const { only: _none, ...rest } = this.options;
      const shown = visible(this.picture, only ? { ...rest, only } : rest);
      const size = sizes(shown, this.ruler);
      const old = this.scene;
      const nodes = (old?.visible.picture !== this.picture && this.carried) || numbersTo(this.picture.nodeCount);
      const was = old ? earlier(old, { visible: shown }, nodes) : null;
      const slots = this.picture.compares && !this.apart ? sharedSlots(shown) : ownSlots(shown);
      const right = this.direction === "right";
      const laid = right ? turnedSizes(size) : size;
      const down = layoutInput(shown, laid, this.ruler, slots, was && old?.turned ? swapped(was.seed) : was?.seed);
      const question = right ? asksToTheRight(down) : down;
      // Asked again with the places that it gave, the layout gives the same ones.
      const { answered } = this;
      const again = answered && sameInput(answered.input, question.input);
      const result = await (again ? answered.result : this.arranger.run(question.input));
      if (result === null || serial !== this.serial) return;
      this.answered = { input: question.input, result };
      const built = buildScene(shown, laid, question, result);
      const scene = right ? turnedScene(built, size) : built;
      const closing = this.closeScopes(scene);
      if (closing) return await closing;
      this.scene = scene;
      this.muteAgain();
      this.lookAgain();
      if (how.turn && this.selection.length === 0) this.touched = false;
      this.glide(scene, was, how.anchor, how.reopen);
      this.events.emit("failed", null);
      this.events.emit("scene", scene);
      this.repaint();
    } catch (error) {
      // Without this, a layout that throws would be an unhandled rejection, and the pane would stay as it is.
      if (serial === this.serial) this.events.emit("failed", error instanceof Error ? error : new Error(String(error)));
    } finally {
      clearTimeout(busy);
      if (serial === this.serial) this.events.emit("busy", null);
    }
  }

  /** Closes scopes of a first picture that does not fit its pane, and arranges it anew; null where nothing closes. */
  private closeScopes(scene: Scene): Promise<void> | null {
    if (!this.choosing || !this.sized || scene.visible.picture !== this.picture) return null;
    this.choosing = false;
    if (fitsWhole(scene, this.view)) return null;
    const collapsed = scopesClosed(this.picture, this.options.collapsed, this.options.showConstants);
    if (collapsed.size === this.options.collapsed.size) return null;
    this.options = { ...this.options, collapsed };
    this.events.emit("collapsed", collapsed);
    return this.refresh({ reopen: true });
  }

  private glide(scene: Scene, was: Earlier | null, anchor: number | undefined, reopen = false): void {
    if (!was) {
      this.before = null;
      this.progress = 1;
      if (this.sized && !this.touched) this.camera = this.opening(scene);
      return;
    }
    let delta = anchor !== undefined ? shift(scene, was, anchor) : null;
    if (!delta && !reopen) {
      const item = nearestKept(scene, was, this.camera.x, this.camera.y);
      delta = item >= 0 ? moved(scene, was, item) : null;
    }
    const from = this.camera;
    const held = delta && { ...from, x: from.x + delta[0], y: from.y + delta[1] };
    this.before = was;
    this.framing = null;
    const stays = held && (this.touched || anchor !== undefined);
    const to = stays ? held : held && !this.asked.length ? this.keptView(scene, held) : this.opening(scene);
    this.animate(from, to, looksStill(scene, was, this.view, from, to));
  }

  /** The view after a toggle: it moves only as far as the first change, and only where no change is in view. */
  private keptView(scene: Scene, held: Camera): Camera {
    const change = firstChange(scene, this.view);
    if (change < 0 || shows(scene, this.view, held, change)) return held;
    const changed = itemsOf(scene, changedNodes(scene.visible.picture));
    return changed.some((i) => shows(scene, this.view, held, i)) ? held : framed(scene, this.view, change);
  }

  /** The first view: of the nodes that code has selected, where they are not seen in the usual one. */
  private opening(scene: Scene): Camera {
    const first = openingCamera(scene, this.view);
    const items = itemsOf(scene, this.asked);
    return items.every((i) => shows(scene, this.view, first, i)) ? first : this.closeUp(scene, items);
  }

  private closeUp(scene: Scene, items: readonly number[]): Camera {
    if (items.length === 1) return framed(scene, this.view, items[0]);
    const box = around(scene, items);
    return box ? fit(box, this.view, 1, 60) : openingCamera(scene, this.view);
  }

  private animate(from: Camera, to: Camera, looksStill = false): void {
    const still =
      looksStill || (typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.cameraFrom = from;
    this.cameraTo = to;
    this.startedAt = NaN;
    this.progress = still ? 1 : 0;
    if (still) {
      this.before = null;
      this.camera = to;
      this.events.emit("viewport", to);
    }
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

  /** A pane has another size. The smallest of both sides is the view: what fits in it fits in each pane. */
  resize(size: Size, pane: object = this): void {
    this.sizes.set(pane, size);
    const sizes = [...this.sizes.values()];
    const view = {
      width: Math.min(...sizes.map(({ width }) => width)),
      height: Math.min(...sizes.map(({ height }) => height)),
    };
    this.view = view;
    this.sized ||= view.width > 0;
    const { scene } = this;
    if (scene && view.width > 0) {
      if (this.closeScopes(scene)) return;
      const to = this.touched ? this.framing?.(scene, view) : this.opening(scene);
      if (to && this.progress < 1) this.cameraTo = to;
      else if (to) this.camera = to;
    }
    this.repaint();
  }

  setCamera(camera: Camera, byHand = true): void {
    this.touched ||= byHand;
    this.framing = null;
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
    this.setCamera({
      ...this.camera,
      x: this.camera.x - dx / this.camera.scale,
      y: this.camera.y - dy / this.camera.scale,
    });
  }

  zoom(factor: number, x = this.view.width / 2, y = this.view.height / 2): void {
    this.setCamera(zoomAt(this.camera, this.view, x, y, factor));
  }

  glideTo(camera: Camera): void {
    this.touched = true;
    this.framing = null;
    this.before = null;
    this.animate(this.camera, camera);
  }

  /** Glides to a view that the pane keeps when it gets another size. */
  private frame(framing: (scene: Scene, view: Size) => Camera): void {
    if (!this.scene) return;
    this.glideTo(framing(this.scene, this.view));
    this.framing = framing;
  }

  fit(): void {
    this.frame((scene, view) => fit(extent(scene), view));
  }

  home(): void {
    this.frame(openingCamera);
  }

  fitItems(items: Iterable<number>): void {
    const box = this.scene ? around(this.scene, items) : null;
    if (box) this.frame((_, view) => fit(box, view, 1, 60));
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
    this.asked = [];
    this.lookAgain();
    this.events.emit("select", { nodes });
    this.repaint();
  }

  /** Selects nodes as code asks for it, and brings them into view unless they are in it. */
  choose(nodes: number[]): void {
    this.select(nodes);
    this.asked = nodes;
    if (this.current && this.sized) this.bringIntoView(itemsOf(this.current, nodes));
  }

  /** Brings items into view, unless all of them are in it. */
  bringIntoView(items: readonly number[]): void {
    const { scene } = this;
    if (!scene || items.length === 0) return;
    const at = this.progress < 1 && this.cameraTo ? this.cameraTo : this.camera;
    if (!items.every((i) => shows(scene, this.view, at, i))) this.frame((now) => this.closeUp(now, items));
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
    const item = u >= 0 ? (this.current?.visible.itemOf[u] ?? -1) : -1;
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
    for (const u of nodes)
      for (let g = this.picture.group[u] ?? -1; g >= 0; g = this.picture.groups.parent[g])
        opened = collapsed.delete(g) || opened;
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
    return this.current ? itemsOf(this.current, nodes) : [];
  }

  private lookAgain(): void {
    const { current, selection, hoveredNode, found, overlay, notes } = this;
    if (current) this.look = inItems(this.look, current, { selection, hoveredNode, found, overlay, notes });
  }

  /** The scene of a pane of that size and those sides; null before the first one. */
  frameFor(view: Size, theme: Theme, sides: number): Frame | null {
    const { scene, camera, ruler, look, progress: t, before: earlier } = this;
    return scene && { scene, camera, view, theme, ruler, look, sides, textSide: sides === 1 ? 0 : 1, t, earlier };
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
  const groups = nodes && carriedGroups(old, next, nodes);
  const start = groups?.includes(-1) === false ? new Set<number>() : initiallyCollapsed(next, options.showConstants);
  groups?.forEach((was, g) => {
    if (was < 0) return;
    if (options.collapsed.has(was)) start.add(g);
    else start.delete(g);
  });
  return start;
}
