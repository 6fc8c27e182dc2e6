/** A question, a field for a guess, and then the answer. */
import { useRef } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { type Answer } from "../model/messages.ts";
import { type Model } from "../model/model.ts";
import { open } from "./opened.ts";

type Ask = (guess: string) => void;

export function predict(model: Model, el: HTMLElement): () => void {
  const { shell, traits, send } = open(model, el, "predict");
  const trait = (name: string) => String(traits.get(name).value ?? "");
  const ask: Ask = (guess) => send?.({ type: "reveal", guess });
  const Page = () => {
    const shown = traits.get("shown").value ?? {};
    const askable = send && ["asked", "failed"].includes(shown.stage ?? "asked");
    const choices = traits.get("choices").value;
    return (
      <>
        <div class="wb-predict-asked">
          <span class="wb-predict-question">{trait("question")}</span>
          <span class="wb-predict-entry">
            {askable &&
              (Array.isArray(choices) && choices.length > 0 ? (
                <Choices choices={choices.map(String)} ask={ask} />
              ) : (
                <Guess unit={trait("unit")} ask={ask} />
              ))}
            {askable && (
              <Button label="The answer, without a prediction" testid="predict-show" onClick={() => ask("")}>
                Show me
              </Button>
            )}
          </span>
        </div>
        <AnswerLine shown={shown} guessed={trait("guess") !== ""} />
      </>
    );
  };
  shell.render(<Page />);
  return () => shell.dispose();
}

function Choices({ choices, ask }: { choices: string[]; ask: Ask }) {
  return (
    <span class="wb-segments">
      {choices.map((choice) => (
        <button key={choice} type="button" class="wb-segment" data-testid="predict-choice" onClick={() => ask(choice)}>
          {choice}
        </button>
      ))}
    </span>
  );
}

function Guess({ unit, ask }: { unit: string; ask: Ask }) {
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
