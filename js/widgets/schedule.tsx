/** The ScheduleStepper: the primitives of a kernel's schedule, its loops, and its TVMScript before and after each. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Blocks } from "../components/blocks.tsx";
import { Segments } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { roving, rowOf } from "../components/roving.ts";
import { open } from "../components/shell.tsx";
import { BusyStrip, ErrorStrip, Trouble } from "../components/strips.tsx";
import { type LoopRow, type ScheduleList, type ScheduleSource, type ScheduleStepState } from "../model/messages.ts";
import { type Model, type Send } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { PairDiff } from "../panels/text_diff.tsx";
import { comparePlain } from "../panels/text_view.ts";
import { oneLine } from "../render/text.ts";
import { formatBytes } from "../text/counted.ts";

const HEIGHT = 560;
const NO_ROWS: readonly LoopRow[] = [];
const NO_SOURCE: ScheduleSource = {};

export function schedule(model: Model, el: HTMLElement): () => void {
  const { shell, traits, send } = open(model, el, "schedule");
  const Page = () => {
    const status = traits.get("status").value;
    const list = traits.get("schedule").value ?? {};
    return (
      <>
        <div class="wb-bar">
          <span class="wb-strong" data-testid="schedule-title">
            {oneLine(traits.get("headline").value ?? "", 200)}
          </span>
        </div>
        <BusyStrip busy={status?.busy} send={send} />
        <ErrorStrip error={status?.error} />
        <Shown list={list} traits={traits} send={send} />
        <Blocks blocks={traits.get("blocks").value} send={send} class="wb-schedule-blocks" />
      </>
    );
  };
  shell.render(<Page />);
  return () => shell.dispose();
}

interface ShownProps {
  list: ScheduleList;
  traits: Traits;
  send: Send | undefined;
}

function Shown({ list: { steps = [], states = [] }, traits, send }: ShownProps) {
  const place = traits.get("step").value ?? -1;
  const step = steps[place];
  const after = states[step?.state ?? 0];
  const before = states[steps[place - 1]?.state ?? 0];
  const [old, now] = [before?.script ?? "", after?.script ?? ""];
  const pair = useMemo(() => comparePlain(old, now), [old, now]);
  const source = traits.get("source").value ?? NO_SOURCE;
  const [chosen, choose] = useState(-1);
  const [face, show] = useState<"script" | "source">("source");
  useLayoutEffect(() => {
    choose(-1);
    show("source");
  }, [source]);
  const last = source.text !== undefined && after === states.at(-1);
  const linked = last && face === "source";
  const rows = after?.rows ?? NO_ROWS;
  const lines = linked ? { source, inside: insideOf(rows, chosen), chosen, choose } : undefined;
  return (
    <div class="wb-schedule-main" style={`height: ${traits.get("height").value ?? HEIGHT}px`}>
      <Steps steps={steps} place={place} traits={traits} />
      <section class="wb-schedule-loops" aria-label="Loops">
        <div class="wb-schedule-facts" data-testid="schedule-facts">
          {after?.facts.join(" · ")}
          <span class="wb-dim">Bytes that one run of a loop reads and writes</span>
        </div>
        <Tree rows={rows} before={before?.rows ?? NO_ROWS} lines={lines} />
      </section>
      <section class="wb-schedule-text" aria-label="TVMScript">
        {step?.error && (
          <div class="wb-error" data-testid="schedule-error">
            <Trouble title="TVM refused this step" text={step.error}>
              {null}
            </Trouble>
          </div>
        )}
        {step?.entry && <Blocks blocks={[step.entry]} send={send} />}
        {last && (
          <div class="wb-text-tools">
            <Segments
              label="Text"
              choices={[
                ["script", "TVMScript", "Before and after this step", "schedule-script-face"],
                ["source", source.form ?? "", "Generated code", "schedule-source-face"],
              ]}
              value={face}
              pick={show}
            />
            {lines && (
              <>
                <span class="wb-dim" data-testid="schedule-source-note">
                  {source.note ? `${source.note}.` : "A click on a line, a loop or a block marks what belongs to it."}
                </span>
                <span class="wb-space" />
                <CopyButton text={source.text ?? ""} />
              </>
            )}
          </div>
        )}
        {lines ? <Source lines={lines} /> : <PairDiff pair={pair} words="" />}
      </section>
    </div>
  );
}

interface StepsProps {
  steps: readonly ScheduleStepState[];
  place: number;
  traits: Traits;
}

/** The arrows, Home and End show the step of the row that they go to. */
function Steps({ steps, place, traits }: StepsProps) {
  const lookups = traits.get("lookups").value === true;
  const go = (to: number) => traits.set("step", to);
  const hidden = steps.filter((step) => step.pure).length;
  const focus = ({ target, currentTarget }: FocusEvent & { currentTarget: HTMLElement }) => {
    const at = rowOf(currentTarget, target);
    if (at >= 0 && at - 1 !== place) go(at - 1);
  };
  return (
    <section class="wb-schedule-steps" aria-label="Steps">
      <div class="wb-filter">
        <label class="wb-label">
          <input
            type="checkbox"
            data-testid="lookups"
            checked={lookups}
            onChange={({ currentTarget }) => traits.set("lookups", currentTarget.checked)}
          />
          {`Show lookups (${hidden})`}
        </label>
      </div>
      <ol class="wb-passes" ref={roving} onFocusIn={focus} data-testid="schedule-steps" aria-label="Primitives">
        {[undefined, ...steps].map((step, row) => (
          <li
            key={row}
            class={`wb-pass${row - 1 === place ? " wb-current" : ""}${step?.error ? " wb-pass-error" : ""}`}
            hidden={step?.pure && !step.error && !lookups && row - 1 !== place}
          >
            <span class="wb-pass-place wb-dim" aria-hidden="true">
              {step ? row - 1 : ""}
            </span>
            <button
              type="button"
              class="wb-pass-name"
              data-testid={`step-${row - 1}`}
              aria-current={row - 1 === place ? "step" : "false"}
              title={step?.text ?? ""}
              onClick={() => go(row - 1)}
            >
              {step ? <Primitive step={step} /> : "Without a schedule"}
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Its arguments as they are by default; the tooltip has all. */
const DEFAULTS = /, (preserve_unit_iters=True|disable_predication=False|index=-1)(?=,|$)/g;

function Primitive({ step }: { step: ScheduleStepState }) {
  const [, outputs = "", name = "", rest = ""] = /^(?:(.*?) = )?sch\.(\w+)\((.*)\)$/s.exec(step.text) ?? [];
  if (name === "") return <>{oneLine(step.text, 200)}</>;
  const named = rest.replace(DEFAULTS, "").replace(/\b[a-z]\d+\b/g, (word) => step.names[word] ?? word);
  return (
    <>
      <span class={step.pure ? "wb-dim" : "wb-strong"}>{name}</span>{" "}
      <span class="wb-dim">
        {oneLine(named, 120)}
        {outputs && ` → ${oneLine(outputs, 60)}`}
        {step.error && " — failed"}
      </span>
    </>
  );
}

/** The generated code, and the row of the tree that was clicked, or from which the clicked line comes. */
interface Lines {
  source: ScheduleSource;
  /** The chosen row and those in it. */
  inside: ReadonlySet<number | null>;
  chosen: number;
  choose: (row: number) => void;
}

function insideOf(rows: readonly LoopRow[], chosen: number): Set<number | null> {
  const depth = rows[chosen]?.depth ?? 0;
  const length = rows.slice(chosen + 1).findIndex((row) => row.depth <= depth);
  const end = length < 0 ? rows.length : chosen + 1 + length;
  return new Set(chosen < 0 ? [] : Array.from({ length: end - chosen }, (_, i) => chosen + i));
}

function Source({ lines: { source, inside, chosen, choose } }: { lines: Lines }) {
  const list = useRef<HTMLOListElement>(null);
  const { text = "", rows = [] } = source;
  useLayoutEffect(() => roving(list.current), []);
  useLayoutEffect(() => bring(list.current, chosen < 0 ? "button" : ".wb-chosen"), [source, chosen]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: text that scrolls needs the keyboard
    <ol ref={list} class="wb-source" data-testid="schedule-source" tabIndex={0} aria-label="Generated code">
      {text.split("\n").map((line, i) => {
        const row = rows[i] ?? null;
        return (
          <li key={i} class={inside.has(row) ? "wb-chosen" : ""}>
            {row === null ? line : <Choice row={row} words={line} chosen={chosen} choose={choose} />}
          </li>
        );
      })}
    </ol>
  );
}

type ChoiceProps = Pick<Lines, "chosen" | "choose"> & { row: number; words: string };

function Choice({ row, words, chosen, choose }: ChoiceProps) {
  const on = row === chosen;
  return (
    <button type="button" class="wb-source-line" aria-pressed={on} onClick={() => choose(on ? -1 : row)}>
      {words}
    </button>
  );
}

/** Scroll the first such part of a list into view, if it is not there. */
function bring(list: HTMLElement | null, part: string): void {
  const found = list?.querySelector<HTMLElement>(part);
  if (!list || !found) return;
  const top = found.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 20) list.scrollTop = top - 60;
}

interface TreeProps {
  rows: readonly LoopRow[];
  before: readonly LoopRow[];
  lines?: Lines | undefined;
}

/** Rows that were not there before are marked. */
export function Tree({ rows, before, lines }: TreeProps) {
  const list = useRef<HTMLUListElement>(null);
  const known = new Set(before.map(keyOf));
  const linked = new Set(lines?.source.rows);
  useLayoutEffect(() => roving(list.current), []);
  useLayoutEffect(() => bring(list.current, ".wb-tree-new"), [rows]);
  useLayoutEffect(() => bring(list.current, ".wb-chosen"), [lines?.chosen]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls needs the keyboard
    <ul class="wb-tree" ref={list} data-testid="schedule-tree" tabIndex={0} aria-label="Loops, blocks and buffers">
      {rows.map((row, i) => (
        <li
          key={i}
          class={`wb-tree-${row.kind}${known.has(keyOf(row)) ? "" : " wb-tree-new"}${lines?.chosen === i ? " wb-chosen" : ""}`}
          style={`--depth: ${Math.min(row.depth, 24)}`}
        >
          <span>
            {lines && [...insideOf(rows, i)].some((each) => linked.has(each)) ? (
              <Choice row={i} words={wordsOf(row)} {...lines} />
            ) : (
              wordsOf(row)
            )}
          </span>
          {row.kind !== "loop" && <span class="wb-dim wb-cut">{oneLine(row.extent, 200)}</span>}
          <span class="wb-strong">{oneLine(row.bound, 80)}</span>
          <span class="wb-dim">{row.bytes === null ? "" : formatBytes(row.bytes)}</span>
        </li>
      ))}
    </ul>
  );
}

const wordsOf = ({ kind, name, extent }: LoopRow) =>
  kind === "loop" ? `for ${oneLine(name, 60)} in range(${oneLine(extent, 40)})` : oneLine(name, 60);

const keyOf = ({ depth, kind, name, extent, bound }: LoopRow) => JSON.stringify([depth, kind, name, extent, bound]);
