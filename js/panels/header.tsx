/** The workbench's first line: what is open, how passes are chosen, presets, undo. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Asking, Button, Segments } from "../components/button.tsx";
import { CheckButton } from "../components/checks.tsx";
import { Icon } from "../components/icon.tsx";
import { type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { counted } from "../text/counted.ts";
import { PresetForm, PresetList } from "./presets.tsx";

const LEVELS = [0, 1, 2, 3, 4];
const MODES = [
  ["pipeline", "Pipeline", "Our own list of passes, in order", "pipeline-mode"],
  ["context", "Compiler", "The compiler's own pipeline: opt level, disabled and required passes", "context-mode"],
] as const;

interface HeaderProps {
  state: State;
  /** In a saved page nothing can be changed. */
  saved: boolean;
  send: Send;
}

export function Header({ state, saved, send }: HeaderProps) {
  const [saving, setSaving] = useState(false);
  const list = useRef<HTMLSelectElement>(null);
  const [noted, setNoted] = useState(saved);
  const notes = state.notes ?? [];
  const { presets_note = "" } = state;
  useLayoutEffect(() => {
    if (presets_note) setSaving(true);
  }, [presets_note]);
  const level = state.context?.opt_level;
  const close = () => {
    setSaving(false);
    list.current?.focus();
  };
  const line = (
    <header class="wb-header">
      <span class="wb-title">{state.title}</span>
      <Entries state={state} send={send} />
      <Facts state={state} />
      <Button
        class="wb-button wb-small"
        label="What was repaired or assumed when this was loaded"
        testid="noted"
        aria-expanded={noted}
        hidden={notes.length === 0}
        onClick={() => setNoted(!noted)}
      >
        {counted(notes.length, "note")}
      </Button>
      <span class="wb-space" />
      {level !== undefined && <Level level={level} send={send} />}
      <Segments
        label="How passes are chosen"
        choices={MODES}
        value={state.mode ?? "pipeline"}
        pick={(value) => send({ type: "mode", value })}
      />
      <PresetList
        list={list}
        presets={state.presets ?? []}
        level={level}
        choose={(name) => send({ type: "preset", name })}
        save={() => setSaving(true)}
      />
      <CheckButton send={send} />
      <div class="wb-group">
        <Button label="Undo (u)" testid="undo" onClick={() => send({ type: "undo" })}>
          <Icon name="undo" />
        </Button>
        <Button label="Redo (U)" testid="redo" onClick={() => send({ type: "redo" })}>
          <Icon name="redo" />
        </Button>
      </div>
    </header>
  );
  return (
    <>
      <Asking saved={saved}>{line}</Asking>
      <PresetForm state={state} open={saving && !saved} close={close} send={send} />
      <ul class="wb-found wb-notes" data-testid="notes" hidden={!noted}>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </>
  );
}

function Facts({ state: { dialect = "", tvm, target } }: { state: State }) {
  const facts = [dialect.slice(0, 1).toUpperCase() + dialect.slice(1), tvm && `TVM ${tvm}`, target];
  const words = facts.filter(Boolean).join(" · ");
  return (
    <span class="wb-dim wb-cut" title={words}>
      {words}
    </span>
  );
}

function Entries({ state: { entries = [], entry = "" }, send }: { state: State; send: Send }) {
  return (
    <select
      class="wb-select"
      aria-label="Function of the module"
      title="The function of the module that is built and run"
      data-testid="entries"
      hidden={entries.length < 2}
      value={entry}
      onChange={(event) => send({ type: "entry", name: event.currentTarget.value })}
    >
      {entries.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Level({ level, send }: { level: number; send: Send }) {
  return (
    <label class="wb-label" title="PassContext(opt_level=...)">
      opt level
      <select
        class="wb-select"
        data-testid="opt-level"
        aria-label="Optimisation level"
        value={String(level)}
        onChange={(event) => send({ type: "opt_level", value: Number(event.currentTarget.value) })}
      >
        {LEVELS.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
