/** The lines above and beneath a graph: the work under way with Cancel, the last error until it is closed, the end of the kernel. */
import { signal } from "@preact/signals";
import { type ComponentChildren, render } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { type Busy, type Failure } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { Button } from "./button.tsx";

/** Work shorter than this needs no words. */
const PATIENCE_MS = 100;
/** A clock that differs by more than a day is another machine's, and wrong. */
const DAY_MS = 86_400_000;

export function BusyStrip({ busy, send }: { busy: Busy | null | undefined; send: Send | undefined }) {
  const [since, setSince] = useState(0);
  const [now, setNow] = useState(0);
  const working = Boolean(busy);
  const started = busy?.since;
  // Before the page is painted: the seconds of the work before are never seen.
  useLayoutEffect(() => {
    setSince(0);
    setNow(0);
    if (!working) return;
    const ago = typeof started === "number" ? Date.now() - started * 1000 : -1;
    setSince(performance.now() - (ago > 0 && ago < DAY_MS ? ago : 0));
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), 150);
    return () => clearInterval(timer);
  }, [working, started]);
  const ms = now - since;
  return (
    <div class="wb-busy" role="status" data-testid="busy" hidden={!busy || ms < PATIENCE_MS}>
      <span class="wb-spinner" aria-hidden="true" />
      <span class="wb-cut">{busy?.what ?? "Working"}</span>
      <progress class="wb-progress" aria-label="Progress" value={busy?.fraction ?? undefined} />
      <span class="wb-dim">{(ms / 1000).toFixed(0)} s</span>
      <Button
        label="Stop this work"
        class="wb-button wb-primary"
        testid="cancel"
        onClick={() => send?.({ type: "cancel" })}
      >
        Cancel
      </Button>
    </div>
  );
}

/** Why a graph can't be drawn, for an ErrorStrip. */
export function drawingFailure() {
  const undrawn = signal<Failure | null>(null);
  const failed = (text: string | null) => {
    undrawn.value = text === null ? null : { title: "The graph can't be drawn", text, at: Date.now() };
  };
  return { undrawn, failed };
}

export function ErrorStrip({ error }: { error: Failure | null | undefined }) {
  const [closed, setClosed] = useState<Failure | null>(null);
  const open = error && !(closed && same(closed, error));
  // An error that comes again after another one, or after none, is not the one that was closed.
  if (closed && (open || !error)) setClosed(null);
  return (
    <div class="wb-error" role="alert" data-testid="error" hidden={!open}>
      {open && (
        <Trouble title={error.title || "Something failed"} text={error.text}>
          <Button label="Close this message" onClick={() => setClosed(error)}>
            ×
          </Button>
        </Trouble>
      )}
    </div>
  );
}

/** The content of a strip; its button is the child. */
export function Trouble({ title, text, children }: { title: string; text: string; children: ComponentChildren }) {
  return (
    <>
      <div class="wb-error-head">
        <span class="wb-sign">!</span>
        <span class="wb-strong">{title}</span>
        <span class="wb-space" />
        {children}
      </div>
      {text && <pre class="wb-error-text">{text.slice(0, 20000)}</pre>}
    </>
  );
}

/** Whether two are one occurrence: the same mistake made again has a later time. */
function same(a: Failure, b: Failure): boolean {
  return a.title === b.title && a.text === b.text && a.at === b.at;
}

const WORDS = "The kernel has ended. Run the cell again.";

/** The banner of a widget whose kernel has ended. Its controls are off; the graph can still be moved. */
export function showEnded(root: HTMLElement): void {
  if (root.querySelector(".wb-kernel-ended")) return;
  const place = document.createElement("div");
  place.className = "wb-kernel-ended";
  root.prepend(place);
  render(
    <div role="alert" data-testid="kernel-ended">
      {WORDS}
    </div>,
    place,
  );
  switchOff(root);
}

/** Everything but the panes of the graph. */
function switchOff(element: Element): void {
  for (const child of element.children) {
    if (!(child instanceof HTMLElement) || child.matches("style, .wb-kernel-ended, .wb-pane")) continue;
    if (child.querySelector(".wb-pane")) switchOff(child);
    else child.inert = true;
  }
}
