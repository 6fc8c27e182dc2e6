/** The scale of an overlay, or of the values of edges: what is measured, in which unit, from what to what. */
import { cividis, formatValue } from "../render/overlay.ts";
import { type Stage } from "../render/stage.ts";
import { stageSignals } from "./stage_signals.ts";

const RAMP = [0, 0.25, 0.5, 0.75, 1].map(cividis).join(", ");

interface Range {
  title: string;
  unit: string;
  low: number;
  high: number;
}

export function Scale({ stage }: { stage: Stage }) {
  const { overlay } = stageSignals(stage).look.value;
  return (
    <div class="wb-scale" data-testid="scale" hidden={!overlay}>
      {overlay && <Ramp range={overlay} />}
    </div>
  );
}

export function Ramp({ range, ramp = RAMP }: { range: Range; ramp?: string }) {
  return (
    <>
      <span class="wb-strong">{range.title}</span>
      <span>{formatValue(range.low)}</span>
      <span class="wb-ramp" style={{ background: `linear-gradient(to right, ${ramp})` }} />
      <span>{`${formatValue(range.high)} ${range.unit}`}</span>
    </>
  );
}
