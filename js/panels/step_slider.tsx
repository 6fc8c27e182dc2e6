/** The steps of a pipeline as a slider: one tick a pass, larger where it changed something. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { counted, formatTime } from "../text/counted.ts";

export interface SliderStep {
  name: string;
  /** Of a pass, or `off` and `wrong`. */
  status: string;
  seconds?: number | undefined;
}

interface Props {
  steps: readonly SliderStep[];
  /** -1: the whole pipeline. */
  step: number;
  onStep: (step: number) => void;
  /** Milliseconds without a movement after which a dragged step is asked for. */
  rest?: number;
  hidden?: boolean;
}

const WORDS: Readonly<Record<string, string>> = {
  off: " · off",
  same: " · no change",
  error: " · failed",
  skipped: " · not reached",
  wrong: " · other outputs",
};

export function StepSlider({ steps, step, onStep, rest = 0, hidden = false }: Props) {
  const [dragged, setDragged] = useState<number | null>(null);
  const timer = useRef(0);
  // the step that was asked for is here
  useLayoutEffect(() => setDragged(null), [step]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const shown = Math.min(dragged ?? step, steps.length - 1);
  const words = describe(steps, shown);
  const slide = (to: number) => {
    clearTimeout(timer.current);
    setDragged(to);
    if (rest === 0) onStep(to);
    else timer.current = window.setTimeout(() => onStep(to), rest);
  };
  return (
    <div class="wb-steps" hidden={hidden}>
      <Button
        label="Input against the result of all passes"
        class="wb-segment wb-single"
        testid="step-whole"
        aria-label="Whole pipeline"
        aria-pressed={step === -1}
        onClick={() => onStep(-1)}
      >
        Whole pipeline
      </Button>
      <Button label="Previous pass that changed something" onClick={() => jump(steps, step, -1, onStep)}>
        ‹
      </Button>
      <div class="wb-track">
        <Ticks steps={steps} step={step} />
        <input
          type="range"
          class="wb-slider"
          min={-1}
          max={Math.max(0, steps.length - 1)}
          step={1}
          value={shown}
          disabled={steps.length === 0}
          data-testid="step-slider"
          aria-label="Step of the pipeline"
          aria-valuetext={words}
          onInput={(event) => slide(Number(event.currentTarget.value))}
        />
      </div>
      <Button label="Next pass that changed something" onClick={() => jump(steps, step, 1, onStep)}>
        ›
      </Button>
      <span class="wb-step-words" title={words}>
        {words}
      </span>
    </div>
  );
}

function Ticks({ steps, step }: { steps: readonly SliderStep[]; step: number }) {
  return (
    <div class="wb-ticks" aria-hidden="true">
      <span class="wb-tick wb-tick-whole" style="left: 0%" />
      {steps.map((pass, i) => (
        <span
          key={i}
          class={`wb-tick wb-tick-${pass.status}${i === step ? " wb-current" : ""}`}
          style={`left: ${((i + 1) / steps.length) * 100}%`}
        />
      ))}
    </div>
  );
}

function jump(steps: readonly SliderStep[], from: number, direction: 1 | -1, go: (step: number) => void): void {
  for (let i = from + direction; i >= -1 && i < steps.length; i += direction) {
    if (i === -1 || ["changed", "error", "wrong"].includes(steps[i]?.status ?? "")) return go(i);
  }
}

function describe(steps: readonly SliderStep[], at: number): string {
  const pass = steps[at];
  if (!pass) return `All ${counted(steps.length, "pass")}`;
  const seconds = pass.seconds === undefined ? "" : ` · ${formatTime(pass.seconds * 1e6)}`;
  return `${at + 1} / ${steps.length}  ${pass.name}${WORDS[pass.status] ?? ""}${seconds}`;
}
