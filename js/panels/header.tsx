/** The workbench's first line: what is open, how passes are chosen, presets with the form that saves them, undo. */

import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Asking, Button, Choice, Segments, UndoRedo } from "../components/button.tsx";
import { type PresetState, type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { counted } from "../text/counted.ts";
import { CheckButton } from "./pass_words.tsx";

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
        <UndoRedo act={(type) => send({ type })} />
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
    <Choice
      label="Function of the module"
      title="The function of the module that is built and run"
      testid="entries"
      hidden={entries.length < 2}
      options={entries.map((name) => [name, name])}
      value={entry}
      pick={(name) => send({ type: "entry", name })}
    />
  );
}

function Level({ level, send }: { level: number; send: Send }) {
  return (
    <label class="wb-label" title="PassContext(opt_level=...)">
      opt level
      <Choice
        label="Optimisation level"
        testid="opt-level"
        options={LEVELS.map((each) => [each, String(each)])}
        value={level}
        pick={(value) => send({ type: "opt_level", value: Number(value) })}
      />
    </label>
  );
}

const SAVE = "\u0000save";

interface PresetListProps {
  list: RefObject<HTMLSelectElement | null>;
  presets: readonly PresetState[];
  /** The present opt level. */
  level: number | undefined;
  choose: (name: string) => void;
  save: () => void;
}

/** The presets: which one the present choice is, and the form beneath the header that saves and deletes the user's own. */
function PresetList({ list, presets, level, choose, save }: PresetListProps) {
  const [picked, setPicked] = useState("");
  const active = presets.filter((preset) => preset.active);
  const current = active.find(({ name }) => name === picked) ?? active[0];
  useLayoutEffect(() => {
    // A choice that Python refuses, and "Save or delete", leave the list at the preset that is active.
    if (list.current) list.current.value = current?.name ?? "";
  });
  const pick = (value: string) => {
    if (list.current) list.current.value = current?.name ?? "";
    if (value === SAVE) save();
    else if (value) {
      setPicked(value);
      choose(value);
    }
  };
  const own = presets.filter((preset) => preset.own);
  const option = ({ name, doc, opt_level }: PresetState) => (
    <option key={name} value={name} title={doc} label={presetWords(name, opt_level, level)}>
      {presetWords(name, opt_level, level)}
    </option>
  );
  return (
    <select
      ref={list}
      class={`wb-select wb-presets${current ? " wb-current" : ""}`}
      aria-label="Presets"
      title={
        current
          ? `The present choice is the preset ${current.name}: ${current.doc}`
          : "The present choice is not a preset"
      }
      data-testid="presets"
      hidden={presets.length === 0}
      onChange={(event) => pick(event.currentTarget.value)}
    >
      <option value="">Presets</option>
      {presets.filter((preset) => !preset.own).map(option)}
      {own.length > 0 && <optgroup label="Yours">{own.map(option)}</optgroup>}
      <option value={SAVE}>Save or delete …</option>
    </select>
  );
}

/** The name of a preset, and its opt level if it is another one than the present and the name does not have it. */
function presetWords(name: string, level: number, present: number | undefined): string {
  if (present === undefined || level === present || name.includes(`opt ${level}`) || name.endsWith(`level ${level}`))
    return name;
  return `${name} · sets opt level ${level}`;
}

function PresetForm({ state, open, close, send }: { state: State; open: boolean; close: () => void; send: Send }) {
  const [name, setName] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const presets = state.presets ?? [];
  const own = presets.filter((preset) => preset.own).map((preset) => preset.name);
  const refused = state.refused?.form === "preset" ? state.refused.text : "";
  const listed = own.join("\n");
  useLayoutEffect(() => setName(""), [listed]);
  useLayoutEffect(() => {
    if (open) input.current?.focus();
  }, [open]);
  const save = () => send({ type: "save_preset", name });
  return (
    <div class="wb-preset-form" hidden={!open}>
      Keep these passes as
      <input
        ref={input}
        class="wb-input"
        placeholder="Name"
        aria-label="Name of the preset"
        data-testid="preset-name"
        maxLength={80}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={({ key }) => {
          if (key === "Enter") save();
          else if (key === "Escape") close();
        }}
      />
      <Button
        class="wb-button wb-primary"
        label="Save as a preset, for every later Workbench"
        testid="preset-save"
        onClick={save}
      >
        Save
      </Button>
      <span class="wb-refused" role="alert" data-testid="preset-refused">
        {refused || state.presets_note}
      </span>
      {own.map((preset) => (
        <span key={preset} class="wb-label">
          {preset}
          <Button
            label={`Delete the preset ${preset}`}
            testid={`preset-delete-${preset}`}
            onClick={() => send({ type: "delete_preset", name: preset })}
          >
            ×
          </Button>
        </span>
      ))}
      <span class="wb-space" />
      <Button label="Close" onClick={close}>
        ×
      </Button>
    </div>
  );
}
