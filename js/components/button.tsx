/** A quiet button. */
import { type ComponentChildren, type JSX } from "preact";
import { Icon } from "./icon.tsx";

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

interface ChoiceProps {
  /** Its accessible name. */
  label: string;
  title?: string;
  testid: string;
  hidden?: boolean;
  options: readonly (readonly [value: string | number, words: string])[];
  value: string | number;
  pick: (value: string) => void;
}

/** A list of which one is chosen. */
export function Choice({ label, testid, options, value: chosen, pick, ...props }: ChoiceProps) {
  const face = { class: "wb-select", "aria-label": label, "data-testid": testid, value: String(chosen) };
  return (
    <select {...face} {...props} onChange={(event) => pick(event.currentTarget.value)}>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

export function UndoRedo({ act, disabled = false }: { act: (what: "undo" | "redo") => void; disabled?: boolean }) {
  return (
    <>
      <Button label="Undo (u)" testid="undo" disabled={disabled} onClick={() => act("undo")}>
        <Icon name="undo" />
      </Button>
      <Button label="Redo (U)" testid="redo" disabled={disabled} onClick={() => act("redo")}>
        <Icon name="redo" />
      </Button>
    </>
  );
}
