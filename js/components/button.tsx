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
