/** The passes of a trace as a list: the changes of each, its time, and the number of kernels after it. */
import { type ReadonlySignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Breakable } from "../components/breakable.tsx";
import { Icon } from "../components/icon.tsx";
import { type KeyRow, press } from "../components/keys_card.tsx";
import { roving, rowOf } from "../components/roving.ts";
import { type CheckState, type StepState } from "../model/messages.ts";
import { failed, type TraceChoice } from "../model/trace_choice.ts";
import { type Counts, type Facts, type Pair } from "../model/trace_store.ts";
import { formatTime } from "../text/counted.ts";
import { Changes, CheckMark } from "./pass_words.tsx";

/** The numbers that the list shows. */
interface Numbers {
  facts(state: number): ReadonlySignal<Facts | undefined>;
  counts(pair: Pair): ReadonlySignal<Counts | undefined>;
}

/** The keys of a row, for a step and its place. */
export const ROW_KEYS: readonly KeyRow<{ choice: TraceChoice; at: number }>[] = [
  { does: "on a step: pin the state after it", act: { p: ({ choice, at }) => choice.pin(at) } },
];

export function StepList({ choice, numbers }: { choice: TraceChoice; numbers: Numbers }) {
  const { steps } = choice;
  const hidden = steps.length - choice.visible.value.length;
  return (
    <div class="wb-panel-body wb-step-list">
      <div class="wb-filter">
        <input
          class="wb-input"
          type="search"
          placeholder="Filter passes"
          aria-label="Filter passes"
          data-testid="filter"
          value={choice.filter.value}
          onInput={(event) => {
            choice.filter.value = event.currentTarget.value;
          }}
        />
        <label class="wb-label">
          <input
            type="checkbox"
            data-testid="hide-unchanged"
            checked={choice.hide.value}
            onChange={(event) => choice.setHide(event.currentTarget.checked)}
          />
          only changes
        </label>
        <span class="wb-dim">{hidden > 0 ? `${hidden} hidden` : ""}</span>
        <div class="wb-step-head wb-dim" aria-hidden="true">
          <span>pass</span>
          <span title="nodes added, removed, changed">did</span>
          <span title="kernels after it">kernels</span>
          <span>time</span>
        </div>
      </div>
      <Rows choice={choice} numbers={numbers} />
    </div>
  );
}

/** The arrows, Home and End show the step of the row that they go to; p pins it. */
function Rows({ choice, numbers }: { choice: TraceChoice; numbers: Numbers }) {
  const list = useRef<HTMLOListElement>(null);
  const [visible, step, pinned, checks] = [
    choice.visible.value,
    choice.comparing.value ? -2 : choice.step.value,
    choice.pinned.value,
    choice.checks.value,
  ];
  useLayoutEffect(() => roving(list.current));
  useEffect(() => {
    list.current?.querySelector(".wb-current")?.scrollIntoView({ block: "nearest" });
  }, [step]);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = rowOf(list.current, event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(ROW_KEYS, event, { choice, at })) return event.preventDefault();
    const from = step < 0 && at === visible[0] ? -1 : at;
    const to = {
      ArrowDown: choice.next(from, 1),
      ArrowUp: choice.next(at, -1),
      Home: visible[0],
      End: visible.at(-1),
    }[event.key];
    if (to === undefined) return;
    choice.go(to);
    // The focus stays: the whole trace has no row.
    if (from < 0 || to < 0) event.preventDefault();
  };
  if (choice.steps.length === 0) return <p class="wb-empty">This trace has no passes.</p>;
  const listed = new Set(visible);
  return (
    <ol class="wb-passes" data-testid="pass-list" aria-label="Passes" ref={list} onKeyDown={onKeyDown}>
      {choice.steps.map((pass, i) => (
        <Row
          key={i}
          pass={pass}
          place={i}
          hidden={!listed.has(i)}
          current={i === step}
          letter={pinned.map((at, k) => (at === i ? "AB"[k] : "")).join("")}
          check={checks[i]}
          choice={choice}
          numbers={numbers}
        />
      ))}
    </ol>
  );
}

interface RowProps {
  pass: StepState;
  place: number;
  hidden: boolean;
  current: boolean;
  letter: string;
  check: CheckState | undefined;
  choice: TraceChoice;
  numbers: Numbers;
}

function Row({ pass, place, hidden, current, letter, check, choice, numbers }: RowProps) {
  const before = numbers.facts(pass.before).value;
  const after = numbers.facts(pass.after).value;
  const counts = numbers.counts([pass.before, pass.after]).value;
  const status = failed(check) ? "error" : pass.status;
  return (
    <li
      class={`wb-pass wb-pass-${status}${current ? " wb-current" : ""}`}
      style={`--depth: ${Math.min(pass.depth, 6)}`}
      hidden={hidden}
    >
      <button
        type="button"
        class="wb-pass-name"
        data-testid={`pass-${place}`}
        aria-current={current ? "step" : "false"}
        title={title({ pass, before, after, counts, check })}
        onClick={() => choice.go(place)}
      >
        <Breakable name={pass.name} />
      </button>
      <span class="wb-step-facts">
        <span class="wb-effect">
          <Effect pass={pass} counts={counts} check={check} />
        </span>
        <span class={`wb-step-kernels${after?.kernels === before?.kernels ? "" : " wb-strong"}`}>
          {pass.status === "changed" ? (after?.kernels ?? "") : ""}
        </span>
        <span class="wb-step-time">{time(pass.seconds)}</span>
        <button
          type="button"
          class={`wb-button wb-pin${letter ? " wb-pinned" : ""}`}
          data-testid={`pin-${place}`}
          title={`Pin the state after ${pass.name}, to compare it with another one (p)`}
          aria-label={`Pin the state after ${pass.name}`}
          aria-pressed={letter !== ""}
          onClick={() => choice.pin(place)}
        >
          {letter || <Icon name="pin" />}
        </button>
      </span>
    </li>
  );
}

function Effect({ pass, counts, check }: Shown) {
  // the name needs the room of the counts
  if (failed(check)) return <CheckMark check={check} />;
  return (
    <>
      <CheckMark check={check} />
      {pass.status === "error" && <span class="wb-mark-removed wb-strong">! failed</span>}
      {(pass.status === "skipped" || pass.status === "off") && <span class="wb-dim">{pass.status}</span>}
      {pass.status === "changed" && counts && <Changes counts={counts} />}
    </>
  );
}

/** A shorter time is not worth reading. */
function time(seconds: number): string {
  return seconds < 5e-5 ? "" : formatTime(seconds * 1e6);
}

const NOTHING: Readonly<Record<string, string>> = {
  same: "changed nothing",
  off: "switched off",
  skipped: "not run at this opt level",
};

type Shown = Pick<RowProps, "pass" | "check"> & {
  before?: Facts | undefined;
  after?: Facts | undefined;
  counts?: Counts | undefined;
};

function title({ pass, before, after, counts, check }: Shown): string {
  const changed = pass.status === "changed";
  const sizes = (["nodes", "ops", "kernels"] as const).map((name) =>
    changed && before ? `${before[name]} → ${after?.[name]} ${name}` : `${after?.[name]} ${name}`,
  );
  const changes = Object.entries(counts ?? {}).flatMap(([mark, n]) => (n ? [`${n} ${mark}`] : []));
  const lines = [
    `${pass.name}  ${time(pass.seconds)}`,
    NOTHING[pass.status],
    pass.error,
    after ? sizes.join(", ") : "",
    changed ? changes.join(", ") : "",
    check?.text,
  ];
  return lines.filter(Boolean).join("\n");
}
