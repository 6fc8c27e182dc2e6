/** One memory plan, or two on one scale: the charts, their legend, and the same tensors as a list. */
import { useLayoutEffect, useMemo } from "preact/hooks";
import { Blocks } from "../components/blocks.tsx";
import { Hosted } from "../components/mount.tsx";
import { type Shell } from "../components/shell.tsx";
import { TooltipCard } from "../components/tooltip.tsx";
import { type Block } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { type MemoryBoard, MemoryPane } from "../pane/memory_pane.ts";
import { scaleOf } from "../render/memory/chart.ts";
import { roleColours } from "../render/memory/paint.ts";
import { describePlace, ROLES } from "../render/memory/plan.ts";
import { oneLine } from "../render/text.ts";

/** Two plans are one above the other in a narrower view. */
const BESIDE = 900;

interface MemoryProps {
  board: MemoryBoard;
  shell: Shell;
  height: number;
  /** The tensors of each plan, where the page has no other list of them. */
  lists?: readonly Block[];
  send: Send | undefined;
}

export function Memory({ board, shell, height, lists = [], send }: MemoryProps) {
  const { plans, trouble } = board.decoded.value;
  const spot = board.cursor.value;
  const plan = spot && plans[spot.which];
  const turned = plans.length > 1 && !shell.hasRoom(BESIDE);
  const colours = roleColours(shell.themes.value);
  const raised = scaleOf(plans, { width: 1, height }).raised;
  return (
    <>
      <div class="wb-panes" style={{ height: `${turned ? height * 1.5 : height}px` }}>
        <div class={`wb-sides${turned ? " wb-turned" : ""}`}>
          {plans.map(({ title }, which) => (
            <div key={which} class="wb-side">
              {title && <div class="wb-pane-head wb-pane-title">{oneLine(title)}</div>}
              <Chart {...{ board, which, shell }} />
            </div>
          ))}
        </div>
        <div class="wb-nothing" hidden={plans.some(({ steps }) => steps > 0)}>
          {trouble || "No kernels yet."}
        </div>
      </div>
      <div class="wb-memory-said wb-dim">
        {ROLES.map((role, i) => (
          <span key={role}>
            <span class="wb-memory-chip" style={{ background: colours[i] }} /> {role}
          </span>
        ))}
        <span>stronger: live at the peak</span>
        <span>area: live bytes, line: held bytes</span>
        {raised && <span>heights of small storages are not to scale</span>}
      </div>
      <div class="wb-memory-said" role="status" aria-live="polite" data-testid="memory-said">
        {plan && oneLine(describePlace(plan, spot.place).join("  ·  "))}
      </div>
      <details class="wb-memory-list" hidden={lists.length === 0}>
        <summary>Tensors as a list</summary>
        {lists.map((list, which) => (
          <Blocks key={which} blocks={[list]} send={send} reveal={(nodes) => board.select(which, nodes)} />
        ))}
      </details>
    </>
  );
}

function Chart({ board, which, shell }: Pick<MemoryProps, "board" | "shell"> & { which: number }) {
  const pane = useMemo(() => new MemoryPane(board, which, shell), [board, which, shell]);
  useLayoutEffect(() => () => pane.dispose(), [pane]);
  return (
    <div class="wb-pane">
      <Hosted element={pane.canvas} />
      <TooltipCard tooltip={pane} />
    </div>
  );
}
