/** The passes that would change the module here, a row each, as they are tried. A click shows the effect; + adds the pass. */
import { useLayoutEffect, useState } from "preact/hooks";
import { Breakable } from "../components/breakable.tsx";
import { Button, Choice } from "../components/button.tsx";
import { roving } from "../components/roving.ts";
import { type Exploration, type State, type Effect as Tried } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { formatTime } from "../text/counted.ts";

const ORDER = ["changed", "error", "untried", "same"];
const HEADS = ["Pass", "Kernels", "Ops", "Nodes", "Time"] as const;

/** What is compared of two effects, one after the other. */
const SIZES = [
  ({ kernels }: Tried) => Math.abs(kernels ?? 0),
  ({ ops }: Tried) => Math.abs(ops ?? 0),
  ({ counts }: Tried) => Object.values(counts).reduce((sum, count) => sum + count, 0),
];

export function Explore({ state, found, send }: { state: State; found: Exploration; send: Send }) {
  const passes = state.mode === "context" ? [] : (state.passes ?? []);
  const step = state.mode === "context" ? -1 : (state.step ?? -1);
  const [place, setPlace] = useState(step);
  const [all, setAll] = useState(false);
  const texts = passes.map((pass) => pass.text).join("\n");
  useLayoutEffect(() => setPlace(step), [step, texts]);
  const running = found.running === true;
  const rows = shownRows(found, all);
  return (
    <div class="wb-explore">
      <div class="wb-tools">
        <Button
          class="wb-button wb-primary"
          label="Try each pass that TVM has on the module here, one at a time, in a process of its own"
          testid="explore"
          disabled={running}
          onClick={() => send({ type: "explore", index: place })}
        >
          Try every pass
        </Button>
        <Choice
          label="Where to try the passes"
          testid="explore-place"
          options={[[-1, "at the start"], ...passes.map(({ name }, i) => [i, `after ${i + 1} ${name}`] as const)]}
          value={place}
          pick={(value) => setPlace(Number(value))}
        />
        <Button
          class="wb-button wb-primary"
          label="Stop trying passes; the rows so far stay"
          testid="explore-cancel"
          hidden={!running}
          onClick={() => send({ type: "cancel" })}
        >
          Cancel
        </Button>
        <progress
          class="wb-progress"
          aria-label="Passes tried"
          hidden={!running}
          max={found.total || 1}
          value={found.rows?.length ?? 0}
        />
        <label class="wb-label">
          <input
            type="checkbox"
            data-testid="explore-all"
            checked={all}
            onChange={(event) => setAll(event.currentTarget.checked)}
          />
          also passes without effect
        </label>
        <span class="wb-dim wb-cut" role="status" data-testid="explore-words">
          {summary(found)}
        </span>
      </div>
      <table ref={roving} class="wb-rows" hidden={!found.rows?.length}>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th
                key={head}
                scope="col"
                title={head === "Kernels" ? "Kernels that fusion would make of the module then" : ""}
              >
                {head}
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody data-testid="explore-rows">
          {rows.map((row) => (
            <Row
              key={row.name}
              row={row}
              shown={row.name === state.preview}
              index={(found.index ?? -1) + 1}
              send={send}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  row: Tried;
  /** Whether the graph shows its effect. */
  shown: boolean;
  /** The place of the pass if it is added. */
  index: number;
  send: Send;
}

function Row({ row, shown, index, send }: RowProps) {
  const { name, status, message, level } = row;
  if (status !== "changed")
    return (
      <tr class="wb-row">
        <td>
          <span class="wb-dim">{name}</span>
        </td>
        <td class={status === "error" ? "wb-mark-removed" : "wb-dim"} colSpan={4} title={message}>
          {status === "error" ? `! ${message}` : status === "same" ? "changes nothing" : message}
        </td>
        <td />
      </tr>
    );
  return (
    <tr class={`wb-row${shown ? " wb-current" : ""}`}>
      <td>
        <button
          type="button"
          class="wb-link"
          title={`Show the effect of ${name}`}
          aria-pressed={shown}
          data-testid={`preview-${name}`}
          onClick={() => send({ type: "preview", name })}
        >
          <Breakable name={name} />
        </button>
        {(level ?? 0) > 3 && (
          <span class="wb-dim" title={`TVM runs it from opt level ${level} on`}>
            {" "}
            opt level {level}
          </span>
        )}
      </td>
      {([row.kernels, row.ops, row.nodes] as const).map((count, i) => (
        <td key={i}>{delta(count)}</td>
      ))}
      <td>{formatTime(row.seconds * 1e6)}</td>
      <td>
        <Button
          label={`Add ${name} here`}
          testid={`explore-add-${name}`}
          onClick={() => send({ type: "add", name, index })}
        >
          + add
        </Button>
      </td>
    </tr>
  );
}

/** The rows to list: the passes with the largest effect first. */
function shownRows({ rows = [] }: Exploration, all: boolean): Tried[] {
  const order = (a: Tried, b: Tried) =>
    ORDER.indexOf(a.status) - ORDER.indexOf(b.status) ||
    SIZES.reduce((found, size) => found || size(b) - size(a), 0) ||
    (a.kernels ?? 0) - (b.kernels ?? 0) ||
    a.name.localeCompare(b.name);
  return rows.filter(({ status }) => all || status !== "same").sort(order);
}

function summary({ rows = [], total = 0, here = "", error }: Exploration): string {
  if (error || total === 0) return error ?? "";
  const changing = rows.filter(({ status }) => status === "changed").length;
  const left = rows.length < total ? ` tried, ${total - rows.length} to go` : "";
  return `${here}: ${changing} of ${rows.length}${left} would change it`;
}

function delta(count: number | null): string {
  if (count === null) return "?";
  return count > 0 ? `+${count}` : count < 0 ? `−${-count}` : "·";
}
