/** A question, a field for a guess, and then the answer. */
import { useRef } from "preact/hooks";
import { Button, Segments } from "../components/button.tsx";
import { open } from "../components/shell.tsx";
import { type Answer } from "../model/messages.ts";
import { type Model } from "../model/model.ts";

type Ask = (guess: string) => void;

export function predict(model: Model, el: HTMLElement): () => void {
  const { shell, traits, send } = open(model, el, "predict");
  const ask: Ask = (guess) => send?.({ type: "reveal", guess });
  const Page = () => {
    const shown = traits.get("shown").value ?? {};
    const askable = send && ["asked", "failed"].includes(shown.stage ?? "asked");
    const choices = traits.get("choices").value ?? [];
    return (
      <>
        <div class="wb-predict-asked">
          <span class="wb-predict-question">{traits.get("question").value}</span>
          <span class="wb-predict-entry">
            {askable &&
              (choices.length > 0 ? (
                <Segments
                  label="Predictions"
                  choices={choices.map((choice) => [choice, choice, choice, "predict-choice"] as const)}
                  pick={ask}
                />
              ) : (
                <Guess unit={traits.get("unit").value} ask={ask} />
              ))}
            {askable && (
              <Button label="The answer, without a prediction" testid="predict-show" onClick={() => ask("")}>
                Show me
              </Button>
            )}
          </span>
        </div>
        <AnswerLine shown={shown} guessed={traits.get("guess").value !== ""} />
      </>
    );
  };
  shell.render(<Page />);
  return () => shell.dispose();
}

function Guess({ unit, ask }: { unit: string | undefined; ask: Ask }) {
  const field = useRef<HTMLInputElement>(null);
  const give = () => {
    const guess = field.current?.value.trim() ?? "";
    if (guess) ask(guess);
    else field.current?.focus();
  };
  return (
    <>
      <input
        ref={field}
        type="text"
        class="wb-input"
        placeholder="your guess"
        aria-label="Your prediction"
        autocomplete="off"
        data-testid="predict-guess"
        onKeyDown={({ key }) => key === "Enter" && give()}
      />
      <span class="wb-dim">{unit}</span>
      <Button
        label="Compare the guess with the answer (Enter)"
        class="wb-button wb-primary"
        testid="predict-check"
        onClick={give}
      >
        Check
      </Button>
    </>
  );
}

function AnswerLine({ shown, guessed }: { shown: Answer; guessed: boolean }) {
  const words = shown.stage === "busy" ? "Computing the answer …" : shown.said;
  return (
    <div class="wb-predict-said" role="status" aria-live="polite" data-testid="predict-said" hidden={!words}>
      <span class={shown.stage === "failed" ? "wb-bad" : "wb-strong"}>
        {shown.stage === "shown" && guessed && (
          <span class={`wb-sign wb-mark-${shown.right ? "added" : "removed"}`}>{shown.right ? "✓" : "≠"}</span>
        )}
        {words}
      </span>
      {shown.because && ` ${shown.because}`}
    </div>
  );
}
