/** A quiet button. */
import { type ComponentChildren, type JSX } from "preact";

interface ButtonProps extends Omit<JSX.IntrinsicElements["button"], "label"> {
  /** Its accessible name and tooltip: the face may be a sign. */
  label: string;
  testid?: string;
  children?: ComponentChildren;
}

/** Controls that ask the kernel: in a saved page they can't be pressed. */
export function Asking({ saved, children }: { saved: boolean; children: ComponentChildren }) {
  if (!saved) return <>{children}</>;
  return (
    <fieldset class="wb-saved" disabled title="Saved: passes and times as they stood">
      {children}
    </fieldset>
  );
}

export function Button({ label, testid, children, class: look = "wb-button", ...props }: ButtonProps) {
  return (
    <button type="button" class={look} title={label} aria-label={label} data-testid={testid} {...props}>
      {children}
    </button>
  );
}

interface SegmentsProps<Value extends string> {
  /** The accessible name of the group. */
  label: string;
  /** Each with its value, its face, its tooltip, and the name that tests know. */
  choices: readonly (readonly [value: Value, face: string, title: string, testid: string])[];
  /** The chosen one; undefined where each is an answer. */
  value?: Value;
  pick: (value: Value) => void;
}

/** Buttons of which one is chosen. */
export function Segments<Value extends string>({ label, choices, value: chosen, pick }: SegmentsProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend
    <div class="wb-segments" role="group" aria-label={label}>
      {choices.map(([value, face, title, testid]) => (
        <button
          key={value}
          type="button"
          class="wb-segment"
          title={title}
          aria-pressed={chosen === undefined ? undefined : value === chosen}
          data-testid={testid}
          onClick={() => pick(value)}
        >
          {face}
        </button>
      ))}
    </div>
  );
}
