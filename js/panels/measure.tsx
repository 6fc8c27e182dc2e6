/** Configurations tried: a row each, with kernels, and the time with its spread; the plots beside them. */
import { type ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Breakable } from "../components/breakable.tsx";
import { Asking, Button } from "../components/button.tsx";
import { roving } from "../components/roving.ts";
import { HEADINGS, type RowState, type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { oneLine } from "../render/text.ts";
import { counted, formatBytes, formatTime } from "../text/counted.ts";

const COLUMNS = ["config", "kernels", "functions", "peak_bytes", "median_us", "target"] as const;
type Key = (typeof COLUMNS)[number];
/** Statuses that are not a fault. */
const CALM = ["pending", "running", "cancelled", "not measured"];

interface Sort {
  key: Key;
  down: boolean;
}

interface MeasureProps {
  state: State;
  plots: ComponentChildren;
  saved?: boolean;
  send: Send;
}

export function Measure({ state, plots, saved = false, send }: MeasureProps) {
  const rows = state.rows ?? [];
  const targets = [...new Set(rows.map((row) => row.target).filter(Boolean))];
  // One target needs no column; two need a warning too.
  const several = targets.length > 1;
  const { text = "" } = state.headline ?? {};
  return (
    <div class={`wb-measure${several ? "" : " wb-one-target"}`}>
      <div class="wb-measure-table">
        <div class="wb-tools">
          <Asking saved={saved}>
            <Tools state={state} send={send} />
          </Asking>
          <span class="wb-dim wb-cut">{several ? "Rows of different targets are not comparable." : targets[0]}</span>
        </div>
        <p class="wb-said-strong wb-headline" role="status" data-testid="headline" hidden={rows.length === 0 || !text}>
          {text}
        </p>
        <Rows rows={rows} />
      </div>
      {plots}
    </div>
  );
}

function Tools({ state, send }: { state: State; send: Send }) {
  const { rival = "", raced = false } = state.headline ?? {};
  const busy = Boolean(state.busy);
  return (
    <>
      <Button
        class="wb-button wb-primary"
        label="Build and time the present configuration"
        testid="measure"
        disabled={busy}
        onClick={() => send({ type: "measure" })}
      >
        Measure this configuration
      </Button>
      <Button
        label="A difference is reported only after a race."
        testid="race"
        disabled={busy}
        hidden={!rival}
        onClick={() => send({ type: "race" })}
      >
        {raced ? "Race again" : `Race against ${oneLine(rival, 60)}`}
      </Button>
      <Button label="Forget all rows" testid="clear-rows" onClick={() => send({ type: "clear_rows" })}>
        Clear
      </Button>
    </>
  );
}

function Rows({ rows }: { rows: readonly RowState[] }) {
  const [sort, setSort] = useState<Sort | null>(null);
  const press = (key: Key) =>
    setSort(sort?.key !== key ? { key, down: false } : sort.down ? null : { key, down: true });
  const slowest = Math.max(1e-9, ...rows.map((row) => row.q3_us ?? row.median_us ?? 0));
  return (
    <table ref={roving} class="wb-rows">
      <thead>
        <tr>
          {COLUMNS.map((key) => {
            const [face, why] = HEADINGS[key];
            const direction = sort?.down ? "descending" : "ascending";
            return (
              <th key={key} scope="col" class={`wb-column-${key}`} aria-sort={sort?.key === key ? direction : "none"}>
                <button
                  type="button"
                  class="wb-link"
                  title={why || `Sort by ${face.toLowerCase()}`}
                  onClick={() => press(key)}
                >
                  {face}
                </button>
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody data-testid="rows">
        {sorted(rows, sort).map(([row, i]) => (
          <Row key={row.id} row={row} place={i} slowest={slowest} />
        ))}
        {rows.length === 0 && (
          <tr>
            <td class="wb-empty" colSpan={COLUMNS.length}>
              Nothing measured yet. Switch a pass on or off, then measure: each configuration becomes a row.
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** A row with its sentence if it failed, and its details if they are open. */
function Row({ row, place, slowest }: { row: RowState; place: number; slowest: number }) {
  const [open, setOpen] = useState(false);
  const { status = "ok", target = "", current, said } = row;
  const calm = CALM.includes(status);
  return (
    <>
      <tr
        class={`wb-row wb-row-${status.replaceAll(" ", "-")}${current ? " wb-current" : ""}`}
        data-testid={`row-${place}`}
        onClick={() => setOpen(!open)}
      >
        <td class="wb-config">
          {current && (
            <span class="wb-now" title="The present configuration">
              ●
            </span>
          )}
          <button type="button" class="wb-link" title={row.whole || row.config} aria-expanded={open}>
            <Breakable name={row.config} />
          </button>
        </td>
        <td>{whole(row.kernels)}</td>
        <td>{whole(row.functions)}</td>
        <td>{typeof row.peak_bytes === "number" ? formatBytes(row.peak_bytes) : ""}</td>
        <td>
          {status === "ok" ? (
            <RowTime row={row} slowest={slowest} />
          ) : (
            <span class={calm ? "wb-dim" : "wb-mark-removed"}>{statusWords(row)}</span>
          )}
        </td>
        <td class="wb-dim wb-cut wb-column-target" title={target}>
          {target}
        </td>
      </tr>
      {said && (
        <tr class="wb-detail" data-testid={`said-${place}`}>
          <td class={calm ? "wb-dim" : "wb-mark-removed"} colSpan={COLUMNS.length}>
            {said}
          </td>
        </tr>
      )}
      {open && (
        <tr class="wb-detail">
          <td class="wb-dim" colSpan={COLUMNS.length}>
            {rowDetail(row)}
          </td>
        </tr>
      )}
    </>
  );
}

/** Rows with their places, in the order of a column. */
function sorted(rows: readonly RowState[], sort: Sort | null): [RowState, number][] {
  const placed = rows.map((row, i): [RowState, number] => [row, i]);
  if (!sort) return placed;
  const sign = sort.down ? -1 : 1;
  return placed.sort(([a, i], [b, j]) => compare(a[sort.key], b[sort.key]) * sign || i - j);
}

type Value = string | number | null | undefined;

function compare(a: Value, b: Value): number {
  if (typeof a === "string" || typeof b === "string") return String(a ?? "").localeCompare(String(b ?? ""));
  return (a ?? Infinity) - (b ?? Infinity) || 0;
}

function whole(value: number | null | undefined): string {
  return typeof value === "number" ? value.toLocaleString("en") : "–";
}

/** Only the word: the sentence is beneath the row. */
function statusWords({ status, message }: RowState): string {
  if (status === "running") return message || "measuring…";
  if (status === "pending") return message || "waiting";
  return CALM.includes(status) ? status : `! ${status}`;
}

/** The time of a measured row: the median with a bar, the quartiles as a whisker. */
function RowTime({ row, slowest }: { row: RowState; slowest: number }) {
  const { median_us: median } = row;
  if (typeof median !== "number") return <>{row.message || "not measured"}</>;
  const percent = (us: number) => `${Math.max(0, Math.min(100, (us / slowest) * 100))}%`;
  const [low, high] = [row.q1_us ?? median, row.q3_us ?? median];
  return (
    <>
      <span class="wb-time">{formatTime(median)}</span>
      <span class="wb-bar-track" title={`Middle half: ${formatTime(low)} to ${formatTime(high)}`}>
        <span class="wb-bar-fill" style={`width: ${percent(median)}`} />
        <span class="wb-whisker" style={`left: ${percent(low)}; width: calc(${percent(high)} - ${percent(low)})`} />
      </span>
    </>
  );
}

function rowDetail(row: RowState): string {
  const { median_us: median, q1_us: low, q3_us: high, samples, target } = row;
  const facts = [
    row.whole && row.whole !== row.config ? row.whole : "",
    typeof median === "number" ? `median ${formatTime(median)}` : "",
    typeof low === "number" && typeof high === "number" ? `middle half ${formatTime(low)} to ${formatTime(high)}` : "",
    samples ? `${counted(samples, "sample")} after warm-up` : "",
    target ? `target ${target}` : "",
    row.message,
  ];
  return facts.filter(Boolean).join(" · ");
}
