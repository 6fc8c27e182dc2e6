/**
 * The legend, which also filters the graph: each row has a switch that makes its nodes faint, and "only", which
 * makes all others faint. It reads and sets traits.
 */
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { markCounts, opTypes, type Tally } from "../graph/muted.ts";
import { MARKS, type Picture } from "../graph/picture.ts";
import { type Model, type Values } from "../model/model.ts";
import { Traits } from "../model/traits.ts";
import { dtypeColor, edgeDtype } from "../render/edge_labels.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { edgeColour } from "../render/theme.ts";
import { Button, Segments } from "./button.tsx";
import { MarkSign } from "./icon.tsx";
import { roving } from "./roving.ts";
import { Ramp } from "./scale.tsx";
import { type Shell } from "./shell.tsx";
import { stageSignals } from "./stage_signals.ts";

/** A longer list is not read; the rarest are left out. */
const MOST_ROWS = 200;
const SWITCHES = [
  ["show_constants", "Constants as nodes", "Constants and weights as nodes of their own, not as badges"],
  ["show_tuples", "Tuples as nodes", "Tuples and what takes them apart as nodes, not as marks on edges"],
  ["show_lowering", "Show lowering", "Mark operators that became calls of functions, and draw the runtime's calls"],
  ["edges_by_dtype", "Edges by data type", "Colour edges by data type (t)"],
] as const;
const FLOWS = [
  ["down", "↓ Down", "The data flows down", "direction-down"],
  ["right", "→ Right", "The data flows right", "direction-right"],
] as const;
type Switch = (typeof SWITCHES)[number][0] | "legend";

interface Row extends Tally {
  face: string;
  mark?: number;
}

/** What a legend reads and sets: the traits of a view, once it is bound to a model. */
export class Legend {
  private readonly bound = signal<Traits | null>(null);

  constructor(
    readonly stage: Stage,
    readonly shell: Pick<Shell, "themes">,
  ) {}

  bind(model: Model): () => void {
    const traits = new Traits(model);
    this.bound.value = traits;
    return () => traits.dispose();
  }

  is(name: Switch): boolean {
    return this.bound.value?.get(name).value === true;
  }

  get direction(): "down" | "right" {
    return this.bound.value?.get("direction").value ?? "down";
  }

  get muted(): readonly string[] {
    return this.bound.value?.get("muted").value ?? [];
  }

  set<N extends keyof Values>(name: N, value: Values[N]): void {
    this.bound.value?.set(name, value);
  }

  toggle(): void {
    this.set("legend", !this.is("legend"));
  }
}

export function LegendToggle({ legend }: { legend: Legend }) {
  return (
    <Button
      label="Op types, marks and filters (l)"
      testid="legend-toggle"
      aria-label="Legend"
      aria-expanded={legend.is("legend")}
      onClick={() => legend.toggle()}
    >
      Legend
    </Button>
  );
}

interface LegendPanelProps {
  legend: Legend;
  /** The words for MARKS. */
  markNames?: readonly string[];
}

export function LegendPanel({ legend, markNames = MARKS }: LegendPanelProps) {
  const open = legend.is("legend");
  return (
    <aside class="wb-legend" aria-label="Legend" data-testid="legend" hidden={!open}>
      {open && <Content legend={legend} markNames={markNames} />}
    </aside>
  );
}

function Content({ legend, markNames }: Required<LegendPanelProps>) {
  const picture = stageSignals(legend.stage).picture.value;
  const counted = useMemo(() => sections(picture, markNames), [picture, markNames]);
  return (
    <>
      <section>
        <Flow legend={legend} />
        {SWITCHES.map(([name, face, title]) => (
          <label key={name} class="wb-legend-row" title={title}>
            <input
              type="checkbox"
              checked={legend.is(name)}
              data-testid={name}
              onChange={(event) => legend.set(name, event.currentTarget.checked)}
            />
            {face}
          </label>
        ))}
        {legend.is("edges_by_dtype") && <Dtypes legend={legend} picture={picture} />}
        <EdgeScale legend={legend} />
      </section>
      {counted.map(([title, rows]) => (
        <Section key={title} legend={legend} title={title} rows={rows} />
      ))}
    </>
  );
}

function Flow({ legend }: { legend: Legend }) {
  return (
    <div class="wb-legend-head">
      <span class="wb-strong">Flow</span>
      <Segments
        label="Flow"
        choices={FLOWS}
        value={legend.direction}
        pick={(direction) => legend.set("direction", direction)}
      />
    </div>
  );
}

/** The colours of edges with values, such as the costs of boundaries. */
function EdgeScale({ legend }: { legend: Legend }) {
  const colours = stageSignals(legend.stage).look.value.notes?.colours;
  const theme = legend.shell.themes.value;
  const ramp = [0, 0.5, 1].map((t) => edgeColour(theme, t)).join(", ");
  return colours ? (
    <div class="wb-scale wb-edge-scale" data-testid="edge-scale">
      <Ramp range={colours} ramp={ramp} />
    </div>
  ) : null;
}

function Dtypes({ legend, picture }: { legend: Legend; picture: Picture }) {
  const found = useMemo(
    () => [...new Set([...new Set(picture.edgeType)].map(edgeDtype).filter(Boolean))].sort(),
    [picture],
  );
  const theme = legend.shell.themes.value;
  return found.map((name) => (
    <div key={name} class="wb-legend-row wb-legend-dtype">
      <span class="wb-legend-line" style={{ background: dtypeColor(name, theme) }} />
      {oneLine(name, 24)}
    </div>
  ));
}

function Section({ legend, title, rows }: { legend: Legend; title: string; rows: readonly Row[] }) {
  const { muted } = legend;
  const names = new Set(rows.map((row) => row.name));
  const rest = muted.filter((name) => !names.has(name));
  const shown = rows.slice(0, MOST_ROWS);
  return (
    <section ref={roving}>
      <div class="wb-legend-head">
        <span class="wb-strong">{title}</span>
        <Button
          class="wb-button wb-small"
          label={`Show all of: ${title}`}
          testid={`all-${title}`}
          hidden={rest.length === muted.length}
          onClick={() => legend.set("muted", rest)}
        >
          all
        </Button>
      </div>
      {shown.map((row) => (
        <Line
          key={row.name}
          row={row}
          shown={!muted.includes(row.name)}
          show={(on) => legend.set("muted", on ? muted.filter((name) => name !== row.name) : [...muted, row.name])}
          only={() => legend.set("muted", [...rest, ...[...names].filter((name) => name !== row.name)])}
        />
      ))}
      {rows.length > MOST_ROWS && <div class="wb-dim">{`and ${rows.length - MOST_ROWS} more`}</div>}
    </section>
  );
}

function Line({ row, shown, show, only }: { row: Row; shown: boolean; show: (on: boolean) => void; only: () => void }) {
  const face = oneLine(row.face, 80) || "(no name)";
  const id = oneLine(row.name, 80);
  const look = row.mark === undefined ? "" : `wb-mark-${MARKS[row.mark]}`;
  return (
    <div class={`wb-legend-row ${look}${shown ? "" : " wb-muted"}`}>
      <label title={face}>
        <input
          type="checkbox"
          checked={shown}
          data-testid={`shown-${id}`}
          aria-label={`${face}, ${row.count}`}
          onChange={() => show(!shown)}
        />
        {row.mark !== undefined && (
          <span class="wb-sign" aria-hidden="true">
            <MarkSign mark={row.mark} />
          </span>
        )}
        <span class="wb-cut">{face}</span>
      </label>
      <Button class="wb-button wb-small wb-only" label={`Only ${face}`} testid={`only-${id}`} onClick={only}>
        only
      </Button>
      <span class="wb-number">{row.count.toLocaleString("en")}</span>
    </div>
  );
}

function sections(picture: Picture, markNames: readonly string[]): [string, Row[]][] {
  const { ops, kinds } = opTypes(picture);
  const counts = picture.compares ? markCounts(picture) : [];
  const marks = counts.map(
    (count, mark): Row => ({ name: `mark:${MARKS[mark]}`, face: markNames[mark] ?? "", count, mark }),
  );
  const plain = (rows: Tally[]): Row[] => rows.map((row) => ({ ...row, face: row.name }));
  const all: [string, Row[]][] = [
    ["Changes", marks.filter((row) => row.count > 0)],
    ["Operators", plain(ops)],
    ["Other nodes", plain(kinds)],
  ];
  return all.filter(([, rows]) => rows.length > 0);
}
