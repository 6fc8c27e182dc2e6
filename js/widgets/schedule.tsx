/** The ScheduleStepper: the primitives of a kernel's schedule, its loops, and its TVMScript before and after each. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Blocks } from "../components/blocks.tsx";
import { roving, rowOf } from "../components/roving.ts";
import { open } from "../components/shell.tsx";
import { BusyStrip, ErrorStrip, Trouble } from "../components/strips.tsx";
import { type LoopRow, type ScheduleList, type ScheduleStepState } from "../model/messages.ts";
import { type Model, type Send } from "../model/model.ts";
import { type Traits } from "../model/traits.ts";
import { PairDiff } from "../panels/text_diff.tsx";
import { comparePlain } from "../panels/text_view.ts";
import { oneLine } from "../render/text.ts";
import { formatBytes } from "../text/counted.ts";

const HEIGHT = 560;
const NO_ROWS: readonly LoopRow[] = [];

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
  return (
    <div class="wb-schedule-main" style={`height: ${traits.get("height").value ?? HEIGHT}px`}>
      <Steps steps={steps} place={place} traits={traits} />
      <section class="wb-schedule-loops" aria-label="Loops">
        <div class="wb-schedule-facts" data-testid="schedule-facts">
          {after?.facts.join(" · ")}
          <span class="wb-dim">Bytes that one run of a loop reads and writes</span>
        </div>
        <Tree rows={after?.rows ?? NO_ROWS} before={before?.rows ?? NO_ROWS} />
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
        <PairDiff pair={pair} words="" />
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

/** Rows that were not there before are marked. */
export function Tree({ rows, before }: { rows: readonly LoopRow[]; before: readonly LoopRow[] }) {
  const list = useRef<HTMLUListElement>(null);
  const known = new Set(before.map(keyOf));
  useLayoutEffect(() => {
    const first = list.current?.querySelector<HTMLElement>(".wb-tree-new");
    if (list.current && first) list.current.scrollTop = first.offsetTop - list.current.offsetTop - 60;
  }, [rows]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls needs the keyboard
    <ul class="wb-tree" ref={list} data-testid="schedule-tree" tabIndex={0} aria-label="Loops, blocks and buffers">
      {rows.map((row, i) => (
        <li
          key={i}
          class={`wb-tree-${row.kind}${known.has(keyOf(row)) ? "" : " wb-tree-new"}`}
          style={`--depth: ${Math.min(row.depth, 24)}`}
        >
          <span>
            {row.kind === "loop"
              ? `for ${oneLine(row.name, 60)} in range(${oneLine(row.extent, 40)})`
              : oneLine(row.name, 60)}
          </span>
          {row.kind !== "loop" && <span class="wb-dim wb-cut">{oneLine(row.extent, 200)}</span>}
          <span class="wb-strong">{oneLine(row.bound, 80)}</span>
          <span class="wb-dim">{row.bytes === null ? "" : formatBytes(row.bytes)}</span>
        </li>
      ))}
    </ul>
  );
}

const keyOf = ({ depth, kind, name, extent, bound }: LoopRow) => JSON.stringify([depth, kind, name, extent, bound]);
