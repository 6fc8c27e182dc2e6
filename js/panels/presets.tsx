/** The presets: which one the present choice is, and the form beneath the header that saves and deletes the user's own. */
import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { type PresetState, type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";

const SAVE = "\u0000save";

interface PresetListProps {
  list: RefObject<HTMLSelectElement | null>;
  presets: readonly PresetState[];
  /** The present opt level. */
  level: number | undefined;
  choose: (name: string) => void;
  save: () => void;
}

export function PresetList({ list, presets, level, choose, save }: PresetListProps) {
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
  state: State;
  open: boolean;
  close: () => void;
  send: Send;
}

export function PresetForm({ state, open, close, send }: PresetFormProps) {
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
