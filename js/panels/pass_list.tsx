/** The passes, each with its switch and its effect; a click on a name shows that step. A filter finds passes to add. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type KeyRow, press } from "../components/keys_card.tsx";
import { focusRow, roving, rowOf } from "../components/roving.ts";
import { type Catalog, type PassState, type Refused, type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { type Checks } from "../model/trace_choice.ts";
import { ConfigKeys, type Edits, FoundPasses, StepRow, ToggleRow } from "./pass_row.tsx";

interface PassListProps {
  state: State;
  catalog: Catalog;
  checks: Checks;
  send: Send;
}

export function PassList(props: PassListProps) {
  // The text that filtered one list has no meaning in the other.
  return props.state.mode === "context" ? (
    <ContextList key="context" {...props} />
  ) : (
    <Pipeline key="pipeline" {...props} />
  );
}

/** A list of our own: passes are moved, added and removed. */
function Pipeline({ state, catalog, checks, send }: PassListProps) {
  const filter = useFilter();
  const passes = state.passes ?? [];
  const step = state.preview ? -1 : (state.step ?? -1);
  const place = (state.step ?? -1) >= 0 ? (state.step ?? -1) + 1 : passes.length;
  const shown = visible(passes, filter.wanted);
  const list = useRef<HTMLOListElement>(null);
  const focus = (row: number) => focusRow(list.current, row);
  useLayoutEffect(() => roving(list.current), []);
  const [form, setOpened] = useOpened(state.refused);
  const opened = form.index;
  const edits: Edits = {
    move: (index, to) => {
      if (to < 0 || to >= passes.length) return;
      setOpened({ index: opened === index ? to : -1, enters: false });
      focus(to);
      send({ type: "move", index, to });
    },
    duplicate: (index) => {
      setOpened(CLOSED);
      focus(index + 1);
      send({ type: "duplicate", index });
    },
    remove: (index) => {
      if (opened >= index) setOpened(CLOSED);
      focus(Math.min(index, passes.length - 2));
      send({ type: "remove", index });
    },
    unfold: (index) => setOpened(opened === index ? CLOSED : { index, enters: true }),
  };
  useLayoutEffect(() => {
    if (form.enters) list.current?.querySelector<HTMLElement>(".wb-details :is(input, select)")?.focus();
  }, [form, list]);
  return (
    <div class="wb-panel-body">
      <Filter
        filter={filter}
        hint="Filter or add …"
        label="Filter, or find a pass to add"
        all="All passes that can be added"
      />
      <ol
        ref={list}
        class="wb-passes"
        data-testid="pass-list"
        onKeyDown={(event) => {
          const index = rowOf(list.current, event.target);
          if (index < 0 || event.ctrlKey || event.metaKey) return;
          if (press(EDIT_KEYS, event, { edits, index }) || press(historyKeys(send), event, undefined))
            event.preventDefault();
        }}
      >
        {passes.map((pass, index) => (
          <StepRow
            key={index}
            pass={pass}
            index={index}
            last={index === passes.length - 1}
            current={index === step}
            check={checks[index]}
            hidden={!shown.includes(index)}
            opened={index === opened}
            specs={catalog.passes?.find(({ name }) => name === pass.name)?.options ?? []}
            refused={state.refused?.form === `pass ${index}` ? state.refused : null}
            edits={edits}
            send={send}
          />
        ))}
        {passes.length === 0 && <li class="wb-empty">No passes. Add one with +, or choose a preset above.</li>}
      </ol>
      {(filter.open || filter.wanted !== "") && (
        <FoundPasses
          catalog={catalog}
          wanted={filter.wanted}
          place={place > 0 ? `after ${passes[place - 1]?.name ?? ""}` : "as the first pass"}
          add={(name) => {
            filter.close();
            focus(place);
            send({ type: "add", name, index: place });
          }}
        />
      )}
    </div>
  );
}

/** The compiler's own list: passes are switched, and keys of the config are set. */
function ContextList({ state, catalog, send }: PassListProps) {
  const filter = useFilter();
  const passes = state.context?.toggles ?? [];
  const shown = visible(passes, filter.wanted);
  return (
    <div class="wb-panel-body">
      <Filter
        filter={filter}
        hint="Filter …"
        label="Filter passes and config keys"
        all="All config keys of PassContext"
      />
      <ol ref={roving} class="wb-passes" data-testid="pass-list">
        {passes.map((pass, index) => (
          <ToggleRow key={pass.name} pass={pass} hidden={!shown.includes(index)} send={send} />
        ))}
      </ol>
      <ConfigKeys
        settings={catalog.settings ?? []}
        state={state}
        wanted={filter.open || filter.wanted !== "" ? filter.wanted : null}
        send={send}
      />
    </div>
  );
}

function useFilter() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const close = () => {
    setText("");
    setOpen(false);
  };
  return { text, wanted: text.trim().toLowerCase(), setText, open, setOpen, close };
}

interface FilterProps {
  filter: ReturnType<typeof useFilter>;
  /** Short enough for a narrow panel. */
  hint: string;
  label: string;
  /** The words of the button that lists everything. */
  all: string;
}

function Filter({ filter, hint, label, all }: FilterProps) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (filter.open) place.current?.parentElement?.querySelector(".wb-catalog")?.scrollIntoView({ block: "nearest" });
  }, [filter.open]);
  return (
    <div ref={place} class="wb-filter wb-find">
      <input
        class="wb-input"
        type="search"
        data-testid="pass-filter"
        placeholder={hint}
        title={label}
        aria-label={label}
        value={filter.text}
        onInput={(event) => filter.setText(event.currentTarget.value)}
      />
      <button
        type="button"
        class="wb-segment wb-single"
        data-testid="pass-add"
        title={all}
        aria-label={all}
        aria-pressed={filter.open}
        onClick={() => filter.setOpen(!filter.open)}
      >
        +
      </button>
    </div>
  );
}

interface Opened {
  /** -1 for none. */
  index: number;
  /** The focus goes into the form: not where an open form moves with its pass. */
  enters: boolean;
}

const CLOSED: Opened = { index: -1, enters: false };

/** The pass whose options are open: the user's, or the one whose form a refusal is for. */
function useOpened(refused: Refused | null | undefined) {
  const state = useState(CLOSED);
  const [, setOpened] = state;
  const { form = "", field = "", text = "" } = refused ?? {};
  useLayoutEffect(() => {
    const pass = form.match(/^pass (\d+)$/);
    const index = Number(pass?.[1] ?? -1);
    if (index >= 0) setOpened((was) => (was.index === index ? was : { index, enters: true }));
  }, [form, field, text, setOpened]);
  return state;
}

function visible(passes: readonly PassState[], wanted: string): number[] {
  return passes.flatMap(({ name }, index) => (name.toLowerCase().includes(wanted) ? [index] : []));
}

export function historyKeys(send: Send): readonly KeyRow[] {
  return [{ does: "undo, redo", act: { u: () => send({ type: "undo" }), U: () => send({ type: "redo" }) } }];
}

/** The keys of a row that edit the list. */
export const EDIT_KEYS: readonly KeyRow<{ edits: Edits; index: number }>[] = [
  {
    ...{ shown: "Alt + ↑ ↓", does: "on a pass: move it" },
    act: {
      ArrowUp: ({ edits, index }, { altKey }) => altKey && edits.move(index, index - 1),
      ArrowDown: ({ edits, index }, { altKey }) => altKey && edits.move(index, index + 1),
    },
  },
  { does: "on a pass: duplicate it", act: { "+": ({ edits, index }) => edits.duplicate(index) } },
  {
    does: "on a pass: remove it",
    act: { Delete: ({ edits, index }) => edits.remove(index), Backspace: ({ edits, index }) => edits.remove(index) },
  },
  { does: "on a pass: its options", act: { o: ({ edits, index }) => edits.unfold(index) } },
];
