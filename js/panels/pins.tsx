/** The pinned steps A and B, and the switch that compares them. */
import { Button } from "../components/button.tsx";
import { type TraceChoice } from "../model/trace_choice.ts";

export function Pins({ choice }: { choice: TraceChoice }) {
  const pinned = choice.pinned.value;
  const comparing = choice.comparing.value;
  return (
    <div class="wb-group wb-pins">
      {pinned.map((step, k) => (
        <Button
          key={step}
          label={`Unpin the state after ${choice.name(step)}`}
          testid={`pinned-${k}`}
          onClick={() => choice.pin(step)}
        >
          <span>
            <span class="wb-pin-letter">{"AB"[k]}</span> {choice.name(step)}
          </span>
        </Button>
      ))}
      {pinned.length === 2 && (
        <Button
          label="Compare the two pinned states"
          class="wb-segment wb-single"
          testid="compare-pins"
          aria-pressed={comparing}
          onClick={() => choice.compare(!comparing)}
        >
          A ↔ B
        </Button>
      )}
      {pinned.length === 1 && <span class="wb-dim">pin another one to compare</span>}
    </div>
  );
}
