/** Copies a text, over plain http too, where pages have no `navigator.clipboard`. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "./button.tsx";

const SHOWN_MS = 4000;

/** Whether the text is on the clipboard now. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

interface CopyProps {
  text: string | (() => string);
  label?: string;
  testid?: string;
}

export function CopyButton({ text, label = "Copy the code", testid }: CopyProps) {
  const [words, say] = useState("");
  useEffect(() => {
    if (words === "") return;
    const timer = setTimeout(() => say(""), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const press = async () => {
    const done = await copy(typeof text === "function" ? text() : text);
    say(done ? "Copied" : "This page may not use the clipboard: select the text and press Ctrl+C.");
  };
  return (
    <span class="wb-copy">
      <span class="wb-dim" role="status">
        {words}
      </span>
      <Button label={label} testid={testid} onClick={press}>
        Copy
      </Button>
    </span>
  );
}

/** The older method: select the text in a hidden field, and copy the selection. */
function copySelected(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.style.cssText = "position: fixed; opacity: 0; left: 0; top: 0";
  (document.fullscreenElement ?? document.body).append(area);
  area.focus({ preventScroll: true });
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  }
}
