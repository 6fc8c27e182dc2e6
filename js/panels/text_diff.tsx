/**
 * The printed module before and after, side by side: words that differ are marked, equal parts folded. A click on a line
 * selects the nodes that it binds in the picture, and the lines of selected nodes are marked here.
 */
import { signal, useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { type Picture } from "../graph/picture.ts";
import { type PrintedModule } from "../model/trace_store.ts";
import { type Stage } from "../render/stage.ts";
import { SIGN, TextRows } from "./text_rows.tsx";
import { comparePrinted, type PrintedPair, TextView } from "./text_view.ts";

interface TextDiffProps {
  stage: Stage;
  /** Null where there are none yet; `words` is the reason. */
  texts: readonly [PrintedModule, PrintedModule] | null;
  /** Of the graphs of the two texts. */
  picture: Picture;
  words: string;
}

export function TextDiff({ stage, texts, picture, words }: TextDiffProps) {
  const [before, after] = texts ?? [];
  const pair = useMemo(
    () => (before && after ? comparePrinted(before, after, picture) : null),
    [before, after, picture],
  );
  return <PairDiff pair={pair} stage={stage} words={words} />;
}

interface PairDiffProps {
  pair: PrintedPair | null;
  /** None where the lines are of no picture. */
  stage?: Stage;
  words: string;
}

const NONE = signal<readonly number[]>([]);

export function PairDiff({ pair, stage, words }: PairDiffProps) {
  const needle = useSignal("");
  const view = useMemo(
    () => pair && new TextView(pair, needle, stage ? stageSignals(stage).selection : NONE),
    [pair, needle, stage],
  );
  return (
    <div class="wb-text-tab">
      {view && <Tools view={view} search={(words) => search(view, needle, words)} />}
      {view ? <TextRows view={view} stage={stage} /> : <div class="wb-text wb-empty">{words}</div>}
    </div>
  );
}

function search(view: TextView, needle: { value: string }, words: string): void {
  needle.value = words;
  view.find(0);
}

function Tools({ view, search }: { view: TextView; search: (words: string) => void }) {
  const { pair, needle, found, place } = view;
  const tools = useRef<HTMLDivElement>(null);
  const key = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Enter") view.find(place.value + (event.shiftKey ? -1 : 1));
    else if (event.key === "Escape") {
      search("");
      tools.current?.parentElement?.querySelector<HTMLElement>(".wb-text")?.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
  };
  return (
    <div ref={tools} class="wb-text-tools">
      <Counts pair={pair} />
      <span class="wb-space" />
      <Button label="Scroll to the next line that differs" testid="text-next" onClick={() => nextChange(view)}>
        Next change
      </Button>
      <Button label="Show the equal parts too" testid="text-unfold" onClick={() => view.openAll()}>
        Open all
      </Button>
      <div class="wb-search">
        <input
          class="wb-input"
          type="search"
          placeholder="Search the text"
          aria-label="Search the text"
          data-testid="text-search"
          spellcheck={false}
          value={needle.value}
          onInput={({ currentTarget }) => search(currentTarget.value)}
          onKeyDown={key}
        />
        <span class="wb-count" aria-live="polite">
          {needle.value === "" ? "" : found.value.length === 0 ? "none" : `${place.value + 1} / ${found.value.length}`}
        </span>
      </div>
    </div>
  );
}

/** After the one that was shown last; the first one after the last. */
function nextChange(view: TextView): void {
  const from = view.cursor.value;
  const changes = view.changes();
  const next = changes.find((row) => row > from) ?? changes[0];
  if (next === undefined) return;
  view.cursor.value = next;
  view.show(next);
}

function Counts({ pair }: { pair: PrintedPair }) {
  const kinds = (["changed", "removed", "added", "moved"] as const)
    .map((kind) => ({ kind, count: pair.rows.filter((row) => row.kind === kind).length }))
    .filter(({ count }) => count > 0);
  return (
    <span class="wb-dim">
      {kinds.map(({ kind, count }) => (
        <span key={kind} class={`wb-text-count wb-mark-${kind}`}>
          {`${SIGN[kind]}${count} ${kind}`}
        </span>
      ))}
      {kinds.length === 0
        ? "The text is the same, but for the numbering of values."
        : ` of ${pair.rows.length.toLocaleString("en")} lines`}
    </span>
  );
}
