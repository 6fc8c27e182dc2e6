/** A view of graphs on one stage: its panes, with the search, the legend and the keys that they share. */
import { signal } from "@preact/signals";
import { type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Edge } from "../components/edge.tsx";
import {
  type Keyed,
  type KeyRow,
  KeysCard,
  press,
  pressAnywhere,
  type Rows,
  VIEW_KEYS,
} from "../components/keys_card.tsx";
import { LayoutFailure } from "../components/layout_failure.tsx";
import { Legend, LegendPanel } from "../components/legend.tsx";
import { Hosted, usePageId } from "../components/mount.tsx";
import { Search } from "../components/search_box.tsx";
import { type Shell } from "../components/shell.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { MARKS } from "../graph/picture.ts";
import { GRAPH_KEYS } from "../pane/graph_keys.ts";
import { Pane, type PaneOptions } from "../pane/pane.ts";
import { type Sheet, toSvg } from "../render/save.ts";
import { Stage } from "../render/stage.ts";

/** Pixels of a side that no drag takes. */
const LEAST_SIDE = 80;

/** One graph; `Compare` has two. */
export class GraphBoard implements Keyed {
  readonly stage: Stage;
  readonly search: Search;
  readonly legend: Legend;
  readonly panes = signal<readonly Pane[]>([]);
  readonly helping = signal(false);
  /** The widget's own keys. */
  keys: readonly KeyRow[] = [];
  /** The keys of its lists: they are on the card only. */
  listed: Rows = [];

  constructor(
    readonly shell: Shell,
    panes: readonly PaneOptions[] = [{ sides: 1, name: "", testid: "canvas", minimap: true }],
  ) {
    this.stage = new Stage(shell.ruler);
    this.search = new Search(this.stage);
    this.search.onleave = () => this.focus();
    this.legend = new Legend(this.stage, shell);
    this.arrange(panes);
    pressAnywhere(shell.root, this);
    shell.onTheme((theme) => {
      for (const pane of this.panes.value) pane.setTheme(theme);
    });
    shell.atEnd(() => {
      for (const pane of this.panes.value) pane.dispose();
      this.stage.dispose();
    });
    this.countScenes();
  }

  focus(): void {
    this.panes.value[0]?.canvas.focus({ preventScroll: true });
  }

  /** The words for MARKS. */
  marks(): readonly string[] {
    return MARKS;
  }

  /** Over a pane; "" for a lone one. */
  title(_side: 0 | 1): string {
    return "";
  }

  get rows(): Rows {
    return [...GRAPH_KEYS, ...this.keys, ...this.listed];
  }

  /** The whole picture as it would be at 100 %, both sides. */
  svg(): string | null {
    const panes = this.panes.value;
    const sheets = panes.map((pane, i) => ({
      frame: pane.frame(),
      title: panes.length > 1 ? this.title(i === 0 ? 0 : 1) : "",
    }));
    return sheets.every((sheet): sheet is Sheet => sheet.frame !== null) ? toSvg(sheets) : null;
  }

  protected arrange(panes: readonly PaneOptions[]): void {
    for (const pane of this.panes.value) pane.dispose();
    this.panes.value = panes.map((options) => {
      const pane = new Pane(this.stage, this.shell.theme, options);
      pane.onkey = (event) => this.key(event);
      pane.onsay = (words) => this.shell.say(words);
      return pane;
    });
  }

  protected key(event: KeyboardEvent): boolean {
    return press(this.keys, event, undefined) || press(VIEW_KEYS, event, this);
  }

  /** Keeps the number of arrangements on the screen in `data-scenes` of the root, for those who wait for the next one. */
  private countScenes(): void {
    const { stage, shell } = this;
    let [scenes, shown] = [0, 0];
    stage.events.on("scene", () => {
      scenes++;
    });
    stage.events.on("painted", () => {
      if (stage.view.width === 0 || shown === scenes) return;
      shown = scenes;
      shell.root.dataset.scenes = String(shown);
    });
  }
}

interface GraphPanesProps {
  board: GraphBoard;
  height?: number;
  /** What stands over each pane; nothing over a lone graph. */
  head?: (pane: number) => ComponentChildren;
  /** Over the foot of the graph. */
  children?: ComponentChildren;
}

export function GraphPanes({ board, height, head, children }: GraphPanesProps) {
  const { stage } = board;
  const { scene, picture } = stageSignals(stage);
  const turned = scene.value?.turned === true;
  const id = usePageId();
  const last = useRef<HTMLDivElement>(null);
  /** The share of the side after; null for half. */
  const [share, setShare] = useState<number | null>(null);
  const room = () => {
    const sides = last.current?.parentElement;
    return (turned ? sides?.clientHeight : sides?.clientWidth) ?? 0;
  };
  return (
    <div class="wb-panes" style={height === undefined ? {} : { height: `${height}px` }}>
      <LegendPanel legend={board.legend} markNames={board.marks()} />
      <div class={`wb-sides${turned ? " wb-turned" : ""}`}>
        {board.panes.value.map((pane, i) => (
          <div
            key={pane.options.testid}
            class="wb-side"
            style={i > 0 && share !== null ? { flex: `0 0 ${share * 100}%` } : {}}
            ref={i > 0 ? last : null}
            id={`${id}-${i}`}
          >
            {head?.(i)}
            <Hosted element={pane.element} />
            {i > 0 && (
              <Edge
                side={turned ? "top" : "left"}
                label="Size of the pane after"
                panel={last}
                controls={`${id}-1`}
                least={LEAST_SIDE}
                most={() => room() - LEAST_SIDE}
                onResize={(size) => setShare(size / room())}
                onReset={() => setShare(null)}
              />
            )}
          </div>
        ))}
      </div>
      <div class="wb-nothing" hidden={picture.value.nodeCount > 0}>
        No graph yet.
      </div>
      <LayoutFailure stage={stage} />
      {children}
      <KeysCard view={board} />
    </div>
  );
}
