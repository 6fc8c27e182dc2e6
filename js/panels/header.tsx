/** The workbench's first line: what is open, how passes are chosen, presets with the form that saves them, undo. */

import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Blocks } from "../components/blocks.tsx";
import { Asking, Button, Choice, Segments, UndoRedo } from "../components/button.tsx";
import { type Block, type PresetState, type State } from "../model/messages.ts";
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
  /** The form that saves and deletes presets. */
  form: readonly Block[];
  /** In a saved page nothing can be changed. */
  saved: boolean;
  send: Send;
}

export function Header({ state, form, saved, send }: HeaderProps) {
  const [saving, setSaving] = useState(false);
  const list = useRef<HTMLSelectElement>(null);
  const [noted, setNoted] = useState(saved);
  const notes = state.notes ?? [];
  const trouble = form.some((block) => block.t === "p" && block.look === "bad");
  useLayoutEffect(() => {
    if (trouble) setSaving(true);
  }, [trouble]);
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
      <PresetForm form={form} open={saving && !saved} close={close} send={send} />
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

interface PresetFormProps {
  form: readonly Block[];
  open: boolean;
  close: () => void;
  send: Send;
}

function PresetForm({ form, open, close, send }: PresetFormProps) {
  const place = useRef<HTMLDivElement>(null);
  // A preset that was saved or deleted leaves an empty field.
  const own = form.flatMap((block) => (block.t === "act" ? [block.arg] : [])).join("\n");
  useLayoutEffect(() => {
    if (open) place.current?.querySelector("input")?.focus();
  }, [open, own]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the key is of the field within
    <div
      ref={place}
      class="wb-preset-form"
      hidden={!open}
      onKeyDown={({ key }) => {
        if (key === "Escape") close();
      }}
    >
      <Blocks key={own} blocks={form} send={send} />
      <Button label="Close" onClick={close}>
        ×
      </Button>
    </div>
  );
}
