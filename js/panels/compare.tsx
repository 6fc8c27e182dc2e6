/** Before and after side by side, or over each other, on one stage. CompareView, PassStepper and Workbench have it. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Segments } from "../components/button.tsx";
import { Edge } from "../components/edge.tsx";
import { usePageId } from "../components/ids.ts";
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
import { Legend, LegendPanel, LegendToggle } from "../components/legend.tsx";
import { Hosted } from "../components/mount.tsx";
import { Scale } from "../components/scale.tsx";
import { Search, SearchBox } from "../components/search_box.tsx";
import { type Shell } from "../components/shell.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { ZoomButtons } from "../components/zoom_buttons.tsx";
import { MARKS } from "../graph/picture.ts";
import { type Traits } from "../model/messages.ts";
import { GRAPH_KEYS } from "../pane/graph_keys.ts";
import { Pane } from "../pane/pane.ts";
import { type Sheet, toSvg } from "../render/save.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { Brief } from "./brief.tsx";
import { Changes, Chips } from "./chips.tsx";

type Mode = NonNullable<Traits["mode"]>;
const MODES: readonly [Mode, string, string, string][] = [
  ["split", "Split", "Before and after, side by side", "mode-split"],
  ["changed", "Changed only", "Only what changed, with its neighbours (c)", "mode-changed"],
  ["overlay", "Overlay", "Both in one picture", "mode-overlay"],
];
const HOPS = [0, 1, 2, 3, 5];
const SIDES = ["before", "after"] as const;
/** Pixels of a side that no drag takes. */
const LEAST_SIDE = 80;

/** The words for MARKS, given the titles of both sides. */
export type NameMarks = (left: string, right: string) => readonly string[];

export class Compare implements Keyed {
  readonly search: Search;
  readonly changes: Changes;
  readonly legend: Legend;
  readonly titles = signal<readonly string[]>([]);
  readonly shownMode = signal<Mode>("split");
  readonly hops: Signal<number>;
  /** The words for MARKS. */
  readonly markNames: ReadonlySignal<readonly string[]>;
  readonly panes = signal<readonly Pane[]>([]);
  readonly helping = signal(false);
  onmode: (mode: Mode, hops: number) => void = () => undefined;
  /** The widget's own keys. */
  keys: readonly KeyRow[] = [];
  /** The keys of its lists: they are on the card only. */
  listed: Rows = [];

  constructor(
    readonly shell: Shell,
    readonly stage: Stage,
    nameMarks: NameMarks = () => MARKS,
  ) {
    this.markNames = computed(() => nameMarks(this.title(0), this.title(1)));
    this.search = new Search(stage);
    this.search.onleave = () => this.focus();
    this.changes = new Changes(stage);
    this.legend = new Legend(stage, shell);
    this.hops = signal(stage.hops);
    this.arrange();
    pressAnywhere(shell.root, this);
    // To show a node that "changed only" leaves out, the stage leaves that mode.
    stage.events.on("changedOnly", (on) => {
      if (!on && this.mode === "changed") this.setMode("split");
    });
    shell.onTheme((theme) => {
      for (const pane of this.panes.value) pane.setTheme(theme);
    });
  }

  get mode(): Mode {
    return this.shownMode.value;
  }

  title(side: 0 | 1): string {
    return oneLine(this.titles.value[side] || SIDES[side]);
  }

  setMode(mode: Mode, hops = this.stage.hops): void {
    if (mode === this.mode && hops === this.stage.hops) return;
    const turned = (mode === "overlay") !== (this.mode === "overlay");
    batch(() => {
      this.shownMode.value = mode;
      this.hops.value = hops;
      if (turned) this.arrange();
    });
    this.stage.setApart(mode === "overlay");
    this.stage.setChangedOnly(mode === "changed", hops);
    this.onmode(mode, hops);
  }

  focus(): void {
    this.panes.value[0]?.canvas.focus({ preventScroll: true });
  }

  get rows(): Rows {
    return [...GRAPH_KEYS, ...COMPARE_KEYS, ...this.keys, ...this.listed];
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

  dispose(): void {
    for (const pane of this.panes.value) pane.dispose();
  }

  private arrange(): void {
    this.dispose();
    const overlay = this.mode === "overlay";
    const pane = (sides: 1 | 2 | 3, name: string, testid: string, minimap: boolean) => {
      const made = new Pane(this.stage, this.shell.theme, { sides, name, testid, minimap });
      made.onkey = (event) => this.key(event);
      made.onsay = (words) => this.shell.say(words);
      return made;
    };
    this.panes.value = overlay
      ? [pane(3, "both", "canvas-overlay", true)]
      : [pane(1, "before", "canvas-before", false), pane(2, "after", "canvas-after", true)];
  }

  private key(event: KeyboardEvent): boolean {
    return press(this.keys, event, undefined) || press(COMPARE_KEYS, event, this) || press(VIEW_KEYS, event, this);
  }
}

const COMPARE_KEYS: readonly KeyRow<Compare>[] = [
  {
    does: "changed only",
    act: { c: (compare) => compare.setMode(compare.mode === "changed" ? "split" : "changed") },
  },
  { does: "next change", act: { n: ({ changes }) => changes.nextOfAny() } },
];

export function CompareBar({ compare }: { compare: Compare }) {
  const { stage } = compare;
  return (
    <div class="wb-bar" role="toolbar" aria-label="Graph">
      <LegendToggle legend={compare.legend} />
      <Modes compare={compare} />
      <Hops compare={compare} />
      <Chips stage={stage} changes={compare.changes} names={compare.markNames.value} />
      <Scale stage={stage} />
      <span class="wb-space" />
      <SearchBox search={compare.search} />
      <ZoomButtons view={compare} />
    </div>
  );
}

function Modes({ compare }: { compare: Compare }) {
  return <Segments label="View" choices={MODES} value={compare.mode} pick={(mode) => compare.setMode(mode)} />;
}

function Hops({ compare }: { compare: Compare }) {
  const hops = compare.hops.value;
  const choices = HOPS.includes(hops) ? HOPS : [...HOPS, hops];
  return (
    <label class="wb-hops" hidden={compare.mode !== "changed"} title="How many steps around a change are shown">
      ±
      <select
        class="wb-select"
        data-testid="hops"
        aria-label="Steps around a change"
        value={String(hops)}
        onChange={(event) => compare.setMode("changed", Number(event.currentTarget.value))}
      >
        {choices.map((n) => (
          <option key={n} value={String(n)}>
            {n}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Beside the title of a side: its kernels and nodes. */
type Facts = (side: 0 | 1) => ComponentChildren;

interface ComparePanesProps {
  compare: Compare;
  height?: number;
  facts?: Facts;
}

export function ComparePanes({ compare, height, facts }: ComparePanesProps) {
  const { stage } = compare;
  const { scene, picture } = stageSignals(stage);
  const panes = compare.panes.value;
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
      <LegendPanel legend={compare.legend} markNames={compare.markNames.value} />
      <div class={`wb-sides${turned ? " wb-turned" : ""}`}>
        {panes.map((pane, i) => (
          <div
            key={pane.options.testid}
            class="wb-side"
            style={i > 0 && share !== null ? { flex: `0 0 ${share * 100}%` } : {}}
            ref={i > 0 ? last : null}
            id={`${id}-${i}`}
          >
            <PaneHead compare={compare} side={panes.length === 1 ? "both" : i === 0 ? 0 : 1} facts={facts} />
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
      <Brief stage={stage} markNames={compare.markNames.value} />
      <KeysCard view={compare} />
    </div>
  );
}

interface PaneHeadProps {
  compare: Compare;
  side: 0 | 1 | "both";
  facts: Facts | undefined;
}

function PaneHead({ compare, side, facts }: PaneHeadProps) {
  const sides = side === "both" ? ([0, 1] as const) : [side];
  return (
    <div class="wb-pane-head">
      {sides.map((each, i) => (
        <>
          {i > 0 && <span class="wb-arrow">→</span>}
          <span class="wb-pane-title">{compare.title(each)}</span>
          <span class="wb-facts">{facts?.(each)}</span>
        </>
      ))}
    </div>
  );
}
