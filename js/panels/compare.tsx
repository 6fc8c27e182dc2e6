/** Before and after side by side, or over each other, on one stage. CompareView, PassStepper and Workbench have it. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type ComponentChildren } from "preact";
import { Choice, Segments } from "../components/button.tsx";
import { type KeyRow, press, type Rows } from "../components/keys_card.tsx";
import { LegendToggle } from "../components/legend.tsx";
import { Scale } from "../components/scale.tsx";
import { SearchBox } from "../components/search_box.tsx";
import { type Shell } from "../components/shell.tsx";
import { ZoomButtons } from "../components/zoom_buttons.tsx";
import { MARKS } from "../graph/picture.ts";
import { type Traits } from "../model/messages.ts";
import { GRAPH_KEYS } from "../pane/graph_keys.ts";
import { oneLine } from "../render/text.ts";
import { Brief } from "./brief.tsx";
import { Changes, Chips } from "./chips.tsx";
import { GraphBoard, GraphPanes } from "./graph_board.tsx";

type Mode = NonNullable<Traits["mode"]>;
const MODES: readonly [Mode, string, string, string][] = [
  ["split", "Split", "Before and after, side by side", "mode-split"],
  ["changed", "Changed only", "Only what changed, with its neighbours (c)", "mode-changed"],
  ["overlay", "Overlay", "Both in one picture", "mode-overlay"],
];
const HOPS = [0, 1, 2, 3, 5];
const SIDES = ["before", "after"] as const;
const SPLIT = [
  { sides: 1, name: "before", testid: "canvas-before", minimap: false },
  { sides: 2, name: "after", testid: "canvas-after", minimap: true },
] as const;
const OVERLAY = [{ sides: 3, name: "both", testid: "canvas-overlay", minimap: true }] as const;

/** The words for MARKS, given the titles of both sides. */
export type NameMarks = (left: string, right: string) => readonly string[];

export class Compare extends GraphBoard {
  readonly changes: Changes;
  readonly titles = signal<readonly string[]>([]);
  readonly shownMode = signal<Mode>("split");
  readonly hops: Signal<number>;
  onmode: (mode: Mode, hops: number) => void = () => undefined;
  private readonly markNames: ReadonlySignal<readonly string[]>;

  constructor(shell: Shell, nameMarks: NameMarks = () => MARKS) {
    super(shell, SPLIT);
    this.markNames = computed(() => nameMarks(this.title(0), this.title(1)));
    this.changes = new Changes(this.stage);
    this.hops = signal(this.stage.hops);
    // To show a node that "changed only" leaves out, the stage leaves that mode.
    this.stage.events.on("changedOnly", (on) => {
      if (!on && this.mode === "changed") this.setMode("split");
    });
  }

  get mode(): Mode {
    return this.shownMode.value;
  }

  override marks(): readonly string[] {
    return this.markNames.value;
  }

  override title(side: 0 | 1): string {
    return oneLine(this.titles.value[side] || SIDES[side]);
  }

  setMode(mode: Mode, hops = this.stage.hops): void {
    if (mode === this.mode && hops === this.stage.hops) return;
    const turned = (mode === "overlay") !== (this.mode === "overlay");
    batch(() => {
      this.shownMode.value = mode;
      this.hops.value = hops;
      if (turned) this.arrange(mode === "overlay" ? OVERLAY : SPLIT);
    });
    this.stage.setApart(mode === "overlay");
    this.stage.setChangedOnly(mode === "changed", hops);
    this.onmode(mode, hops);
  }

  override get rows(): Rows {
    return [...GRAPH_KEYS, ...COMPARE_KEYS, ...this.keys, ...this.listed];
  }

  protected override key(event: KeyboardEvent): boolean {
    return press(this.keys, event, undefined) || press(COMPARE_KEYS, event, this) || super.key(event);
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
      <Segments label="View" choices={MODES} value={compare.mode} pick={(mode) => compare.setMode(mode)} />
      <Hops compare={compare} />
      <Chips stage={stage} changes={compare.changes} names={compare.marks()} />
      <Scale stage={stage} />
      <span class="wb-space" />
      <SearchBox search={compare.search} />
      <ZoomButtons view={compare} />
    </div>
  );
}

function Hops({ compare }: { compare: Compare }) {
  const hops = compare.hops.value;
  const choices = HOPS.includes(hops) ? HOPS : [...HOPS, hops];
  return (
    <label class="wb-hops" hidden={compare.mode !== "changed"} title="How many steps around a change are shown">
      ±
      <Choice
        label="Steps around a change"
        testid="hops"
        options={choices.map((n) => [n, String(n)])}
        value={hops}
        pick={(value) => compare.setMode("changed", Number(value))}
      />
    </label>
  );
}

interface ComparePanesProps {
  compare: Compare;
  height?: number;
  /** Beside the title of a side: its kernels and nodes. */
  facts?: (side: 0 | 1) => ComponentChildren;
}

export function ComparePanes({ compare, height, facts }: ComparePanesProps) {
  const lone = compare.panes.value.length === 1;
  const head = (pane: number) => (
    <div class="wb-pane-head">
      {(lone ? ([0, 1] as const) : ([pane === 0 ? 0 : 1] as const)).map((side, i) => (
        <>
          {i > 0 && <span class="wb-arrow">→</span>}
          <span class="wb-pane-title">{compare.title(side)}</span>
          <span class="wb-facts">{facts?.(side)}</span>
        </>
      ))}
    </div>
  );
  return (
    <GraphPanes board={compare} head={head} {...(height === undefined ? {} : { height })}>
      <Brief stage={compare.stage} markNames={compare.marks()} />
    </GraphPanes>
  );
}
