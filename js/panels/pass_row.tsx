/** Rows of the pass list: a pass of the pipeline with its menu and its options, a switch of the PassContext, and beneath them what can be added. */
import { useState } from "preact/hooks";
import { Breakable } from "../components/breakable.tsx";
import { Field } from "../components/field.tsx";
import { Menu } from "../components/menu.tsx";
import { roving } from "../components/roving.ts";
import {
  type Catalog,
  type CheckState,
  type FieldSpec,
  type PassChoice,
  type PassState,
  type Refused,
  type State,
} from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { failed } from "../model/trace_choice.ts";
import { CheckMark, Effect, firstSentence, Lock, passTitle } from "./pass_words.tsx";

const DRAGGED = "application/x-wb-pass";

/** The edits of a row. */
export interface Edits {
  move: (index: number, to: number) => void;
  duplicate: (index: number) => void;
  remove: (index: number) => void;
  unfold: (index: number) => void;
}

interface StepRowProps {
  pass: PassState;
  index: number;
  last: boolean;
  current: boolean;
  check: CheckState | undefined;
  hidden: boolean;
  opened: boolean;
  specs: readonly FieldSpec[];
  refused: Refused | null;
  edits: Edits;
  send: Send;
}

export function StepRow(props: StepRowProps) {
  const { pass, index, current, check, opened, send } = props;
  const status = failed(check) ? "error" : pass.enabled === false ? "off" : (pass.status ?? "same");
  const dropping = useDrop(index, props.edits.move);
  return (
    <li hidden={props.hidden}>
      <div
        {...dropping.events}
        class={`wb-pass wb-pass-${status}${current ? " wb-current" : ""}${dropping.over ? " wb-drop" : ""}`}
        draggable
      >
        <Box pass={pass} changed={(enabled) => send({ type: "toggle", index, enabled })} />
        <button
          type="button"
          class="wb-pass-name"
          data-testid={`pass-${index}`}
          aria-current={current ? "step" : "false"}
          title={[passTitle(pass, status), check?.text].filter(Boolean).join("\n")}
          onClick={() => send({ type: "step", index })}
        >
          <Breakable name={pass.name} />
          <span class="wb-dim">
            {Object.entries(pass.options ?? {}).map(([key, value]) => (
              <Breakable key={key} name={` ${key}=${value}`} />
            ))}
          </span>
        </button>
        {pass.reason && <Lock reason={pass.reason} />}
        <span class="wb-effect">
          <CheckMark check={check} />
          {!failed(check) && <Effect pass={pass} status={status} />}
        </span>
        <RowMenu {...props} />
      </div>
      {opened && <Details {...props} />}
    </li>
  );
}

function RowMenu({ pass: { name }, index, last, opened, edits }: StepRowProps) {
  const item = (words: string, key: string, id: string, act: () => void, disabled = false) => ({
    ...{ words, key, act, disabled },
    testid: `${id}-${index}`,
  });
  return (
    <Menu
      label={`Move, remove or set options of ${name}`}
      testid={`tools-${index}`}
      items={[
        item("Move up", "Alt + ↑", "up", () => edits.move(index, index - 1), index === 0),
        item("Move down", "Alt + ↓", "down", () => edits.move(index, index + 1), last),
        item("Duplicate", "+", "duplicate", () => edits.duplicate(index)),
        item("Remove", "Delete", "remove", () => edits.remove(index)),
        item(opened ? "Close options" : "Options", "o", "options", () => edits.unfold(index)),
      ]}
    >
      ⋯
    </Menu>
  );
}

/** The description of a pass, the reason why it is needed, and its options. */
function Details({ pass, index, specs, refused, send }: StepRowProps) {
  const elsewhere = refused && !specs.some(({ name }) => name === refused.field);
  return (
    <div class="wb-details" data-testid={`details-${index}`}>
      <div class="wb-dim">{pass.doc || "A pass of this notebook."}</div>
      {pass.reason && (
        <div>
          <Lock reason={pass.reason} /> Needed: {pass.reason}
        </div>
      )}
      <div class="wb-mark-removed">{pass.status === "error" || pass.status === "skipped" ? pass.message : ""}</div>
      {specs.map((spec) => (
        <Field
          key={`${pass.name}.${spec.name}`}
          spec={spec}
          testid={`option-${index}-${spec.name}`}
          value={pass.options?.[spec.name]}
          refused={refused?.field === spec.name ? refused.text : ""}
          commit={(text) => send({ type: "option", index, name: spec.name, text })}
        />
      ))}
      <div class="wb-refused" role="alert">
        {elsewhere ? refused.text : ""}
      </div>
    </div>
  );
}

export function ToggleRow({ pass, hidden, send }: { pass: PassState; hidden: boolean; send: Send }) {
  const { name, locked, reason = "", opt_level: level } = pass;
  return (
    <li class={`wb-pass wb-toggle wb-pass-${pass.enabled === false ? "off" : "changed"}`} hidden={hidden}>
      <Box pass={pass} changed={(enabled) => send({ type: "toggle_context", name, enabled })} />
      <span class="wb-pass-name" title={[pass.doc, reason].filter(Boolean).join("\n")}>
        <Breakable name={name} />
      </span>
      {locked && <Lock reason={reason} />}
      {typeof level === "number" && !locked && (
        <span class="wb-effect wb-dim" title={`On from opt level ${level}`}>
          ≥ {level}
        </span>
      )}
      {locked && (
        <span class="wb-effect wb-dim" title={reason}>
          always
        </span>
      )}
    </li>
  );
}

function Box({ pass, changed }: { pass: PassState; changed: (enabled: boolean) => void }) {
  return (
    <input
      type="checkbox"
      data-testid={`toggle-${pass.name}`}
      aria-label={pass.name}
      checked={pass.enabled !== false}
      disabled={pass.locked === true}
      title={pass.locked ? pass.reason || "This pass can't be switched off." : ""}
      onChange={(event) => changed(event.currentTarget.checked)}
    />
  );
}

/** A row that can be dragged to another one's place. */
function useDrop(index: number, move: (index: number, to: number) => void) {
  const [over, setOver] = useState(false);
  const events = {
    onDragStart: (event: DragEvent) => event.dataTransfer?.setData(DRAGGED, String(index)),
    onDragLeave: () => setOver(false),
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes(DRAGGED)) return;
      event.preventDefault();
      setOver(true);
    },
    onDrop: (event: DragEvent) => {
      setOver(false);
      const from = Number(event.dataTransfer?.getData(DRAGGED) || NaN);
      if (!Number.isInteger(from) || from === index) return;
      event.preventDefault();
      move(from, index);
    },
  };
  return { over, events };
}

interface FoundProps {
  catalog: Catalog;
  /** The search, in lower case; "" lists everything. */
  wanted: string;
  /** Where an added pass goes, in words. */
  place: string;
  add: (name: string) => void;
}

/** Beneath the pass list: the passes that can be added. */
export function FoundPasses({ catalog, wanted, place, add }: FoundProps) {
  const has = (text: string) => text.toLowerCase().includes(wanted);
  const found = (catalog.passes ?? []).filter(({ name, doc }) => has(name) || (wanted.length > 2 && has(doc)));
  if (found.length === 0) return null;
  return (
    <ul ref={roving} class="wb-passes wb-catalog" data-testid="catalog" aria-label="Catalogue">
      <li class="wb-dim wb-found">Add {place}:</li>
      {found.map((pass) => (
        <FoundPass key={pass.name} pass={pass} place={place} add={add} />
      ))}
    </ul>
  );
}

interface FoundPassProps {
  pass: PassChoice;
  place: string;
  add: (name: string) => void;
}

function FoundPass({ pass: { name, doc, reason, locked, ours, opt_level }, place, add }: FoundPassProps) {
  return (
    <li class="wb-found">
      <button
        type="button"
        class="wb-link"
        disabled={reason !== ""}
        data-testid={`add-${name}`}
        title={reason || `Add ${name} ${place}`}
        onClick={() => add(name)}
      >
        + {name}
      </button>
      <span class="wb-dim">
        {ours ? " ours" : ""}
        {opt_level ? ` ≥ ${opt_level}` : ""}
        {locked && <Lock reason={locked} />}
      </span>
      <div class="wb-dim" title={doc}>
        {reason ? `Not by name: ${reason}` : firstSentence(doc)}
      </div>
    </li>
  );
}

interface KeysProps {
  settings: readonly FieldSpec[];
  state: State;
  /** The search, in lower case; null lists only the keys that have a value. */
  wanted: string | null;
  send: Send;
}

/** The config keys that have a value, and those that are looked for. */
export function ConfigKeys({ settings, state, wanted, send }: KeysProps) {
  const given = state.context?.options ?? {};
  const refused = state.refused?.form === "setting" ? state.refused : null;
  const shown = settings.filter(
    ({ name }) => name in given || name === refused?.field || (wanted !== null && name.toLowerCase().includes(wanted)),
  );
  return (
    <ul class="wb-passes wb-catalog" data-testid="catalog" aria-label="Catalogue">
      <li class="wb-dim wb-found">
        {shown.length > 0 ? "PassContext config" : "Config keys: press + or type a part of the name."}
      </li>
      {shown.map((spec) => (
        <li key={spec.name} class="wb-found">
          <Field
            spec={spec}
            testid={`setting-${spec.name}`}
            value={given[spec.name]}
            refused={refused?.field === spec.name ? refused.text : ""}
            commit={(text) => send({ type: "setting", name: spec.name, text })}
          />
        </li>
      ))}
    </ul>
  );
}
