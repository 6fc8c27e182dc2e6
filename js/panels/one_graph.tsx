/** One graph with its search, legend, keys and zoom. GraphView and FusionInspector have it. */
import { signal } from "@preact/signals";
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
import { Hosted } from "../components/mount.tsx";
import { Search, SearchBox } from "../components/search_box.tsx";
import { type Shell } from "../components/shell.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { ZoomButtons } from "../components/zoom_buttons.tsx";
import { decode } from "../graph/payload.ts";
import { single } from "../graph/picture.ts";
import { type Model, watch, write } from "../model/model.ts";
import { fromSides } from "../model/sides.ts";
import { bindShown } from "../pane/bind_shown.ts";
import { GRAPH_KEYS } from "../pane/graph_keys.ts";
import { Pane } from "../pane/pane.ts";
import { countScenes } from "../pane/scenes.ts";
import { toSvg } from "../render/save.ts";
import { Stage } from "../render/stage.ts";

export class OneGraph implements Keyed {
  readonly stage: Stage;
  readonly pane: Pane;
  readonly search: Search;
  readonly legend: Legend;
  readonly helping = signal(false);
  /** The widget's own keys. */
  keys: readonly KeyRow[] = [];
  private readonly bound: ReturnType<typeof bindShown>;
  private readonly ends: (() => void)[];
  private loading = false;

  constructor(
    private readonly model: Model,
    readonly shell: Shell,
  ) {
    const stage = new Stage(shell.ruler);
    this.stage = stage;
    countScenes(shell.root, stage);
    this.pane = new Pane(stage, shell.theme, { sides: 1, name: "", testid: "canvas", minimap: true });
    this.pane.onkey = (event) => press(this.keys, event, undefined) || press(VIEW_KEYS, event, this);
    pressAnywhere(shell.root, this);
    this.pane.onsay = (words) => shell.say(words);
    this.search = new Search(stage);
    this.search.onleave = () => this.focus();
    this.legend = new Legend(stage, shell);
    shell.onTheme((theme) => this.pane.setTheme(theme));
    this.bound = bindShown(model, stage);
    this.ends = [
      this.legend.bind(model),
      stage.events.on("select", ({ nodes }) => {
        if (!this.loading) write(model, "selection", nodes);
      }),
      stage.events.on("busy", (words) => shell.say(words ?? "", "layout")),
      watch(model, ["graph"], () => this.load()),
      watch(model, ["selection"], () => this.choose()),
    ];
  }

  /** Reads the model: once everything around the graph is there. */
  load(): void {
    this.loading = true;
    try {
      const picture = single(decode(this.model.get("graph")));
      void this.stage.setPicture(picture, this.bound.collapsed(picture));
      this.shell.say(picture.nodeCount === 0 ? "No graph yet." : "", "graph");
    } catch (error) {
      this.shell.say(error instanceof Error ? error.message : String(error), "graph");
    }
    this.loading = false;
    this.choose();
  }

  focus(): void {
    this.pane.canvas.focus({ preventScroll: true });
  }

  get rows(): Rows {
    return [...GRAPH_KEYS, ...this.keys];
  }

  svg(): string | null {
    const frame = this.pane.frame();
    return frame ? toSvg([{ frame, title: "" }]) : null;
  }

  end(): void {
    this.bound.end();
    for (const end of this.ends) end();
    this.pane.dispose();
    this.stage.dispose();
    this.shell.dispose();
  }

  /** Python's selection, where it differs: after a new picture it may know better than the page what a node became. */
  private choose(): void {
    const ids = fromSides(this.stage.picture, this.model.get("selection"));
    const { selection } = this.stage;
    if (ids.length !== selection.length || ids.some((id, i) => id !== selection[i])) this.stage.choose(ids);
  }
}

export function GraphTools({ graph }: { graph: OneGraph }) {
  return (
    <>
      <SearchBox search={graph.search} />
      <ZoomButtons view={graph} />
    </>
  );
}

interface GraphPanesProps {
  graph: OneGraph;
  height?: number;
  /** Over the foot of the graph. */
  children?: preact.ComponentChildren;
}

export function GraphPanes({ graph, height, children }: GraphPanesProps) {
  const { picture } = stageSignals(graph.stage);
  return (
    <div class="wb-panes" style={height === undefined ? {} : { height: `${height}px` }}>
      <LegendPanel legend={graph.legend} />
      <div class="wb-side">
        <Hosted element={graph.pane.element} />
      </div>
      <div class="wb-nothing" hidden={picture.value.nodeCount > 0}>
        No graph yet.
      </div>
      <LayoutFailure stage={graph.stage} />
      {children}
      <KeysCard view={graph} />
    </div>
  );
}
