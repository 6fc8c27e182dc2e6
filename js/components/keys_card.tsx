/** The keys of a view and the words of its search, as a card over the graph. */
import { type Signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";
import { type Legend } from "./legend.tsx";
import { type Search } from "./search_box.tsx";

/** Keys that do one thing; without `act`, words for a pointer or for several keys at once. */
export interface KeyRow<Context = void> {
  does: string;
  /** In place of the keys' names. */
  shown?: string;
  /** By `KeyboardEvent.key`. An action that returns false had no use for its key. */
  act?: Readonly<Record<string, (context: Context, event: Pressed) => unknown>>;
}

export type Rows = readonly KeyRow<never>[];
export type Pressed = Pick<KeyboardEvent, "key"> & Partial<Pick<KeyboardEvent, "shiftKey" | "altKey">>;

/** Do what the rows have for a key; false where that is nothing. */
export function press<Context>(rows: readonly KeyRow<Context>[], event: Pressed, context: Context): boolean {
  return rows.some(({ act }) => {
    const does = act?.[event.key];
    return does !== undefined && does(context, event) !== false;
  });
}

/** A view with a card. */
export interface Keyed {
  readonly search: Search;
  readonly legend: Legend;
  readonly helping: Signal<boolean>;
  /** The keys of its graph. */
  readonly rows: Rows;
  focus(): void;
}

/** The keys of every view with a card. */
export const VIEW_KEYS: readonly KeyRow<Keyed>[] = [
  { does: "search", act: { "/": ({ search }) => search.focus() } },
  { does: "legend", act: { l: ({ legend }) => legend.toggle() } },
  { does: "leave the search", act: { Escape: ({ search }) => search.clear() } },
  { does: "this list", act: { "?": (view) => help(view) } },
];

/** The list, the widget's own keys, and Ctrl+Z for undo, wherever the focus is in a widget but in a field. */
export function pressAnywhere(root: HTMLElement, view: Keyed & { keys: readonly KeyRow[] }): void {
  root.addEventListener("keydown", (event) => {
    const { target, key, ctrlKey, metaKey, altKey, shiftKey } = event;
    const typing = (target as Element).matches("input:not([type=range], [type=checkbox]), select, textarea");
    const command = ctrlKey || metaKey;
    if (typing || event.defaultPrevented || altKey || (command && key.toLowerCase() !== "z")) return;
    const pressed = { key: command ? (shiftKey ? "U" : "u") : key };
    if (press(view.keys, pressed, undefined) || (key === "?" && press(VIEW_KEYS, event, view))) event.preventDefault();
  });
}

export function help({ helping }: Keyed): void {
  helping.value = true;
}

const QUERIES: readonly (readonly [word: string, finds: string])[] = [
  ["cast", "op, name, type, attributes or group has it"],
  ["op:conv2d", "the operator has it"],
  ["name:layer_0", "the name, or its place in the source"],
  ["dtype:int8", "the data type"],
  ["shape:64x64", "these dimensions, one after the other: 64 is not 640"],
  ["type:(1, 64)", "the type as it is written"],
  ["attr:strides", "an attribute, its name or its value"],
  ["kind:constant", "op, param, constant, tuple, call, function, if …"],
  ["group:fused", "a kernel or scope around it"],
  ["mark:added", "kept, changed, removed, added, merged, split"],
  ["-op:cast", "not"],
  ['"bias add"', "blanks belong to the word"],
];

/** These scroll the card; any other key closes it. */
const SCROLLS = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " ", "Tab", "Shift"]);

function faceOf({ shown, act = {} }: KeyRow<never>): string {
  return shown ?? Object.keys(act).join("  ").replace("Escape", "Esc");
}

export function KeysCard({ view }: { view: Keyed }) {
  return view.helping.value ? <Card view={view} /> : null;
}

function Card({ view }: { view: Keyed }) {
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => card.current?.focus(), []);
  const close = () => {
    view.helping.value = false;
  };
  const leave = () => {
    close();
    // Not where a click has moved it.
    view.focus();
  };
  const key = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (SCROLLS.has(event.key) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    leave();
  };
  const left = (event: FocusEvent) => {
    if (!(event.relatedTarget instanceof Node && card.current?.contains(event.relatedTarget))) close();
  };
  return (
    <div
      ref={card}
      class="wb-keys"
      role="dialog"
      aria-label="Keys and search"
      tabIndex={-1}
      data-testid="keys"
      onKeyDown={key}
      onFocusOut={left}
    >
      <List title="Keys" rows={[...view.rows, ...VIEW_KEYS].map((row) => [faceOf(row), row.does])} />
      <List title="Search" rows={QUERIES}>
        Words are joined by “and”. A word matches anywhere in the text it is compared with. Enter goes to the next
        match, Shift + Enter to the one before.
      </List>
      <Button label="Close this list (Esc)" class="wb-button wb-keys-close" onClick={leave}>
        ×
      </Button>
    </div>
  );
}

function List({ title, rows, children }: { title: string; rows: typeof QUERIES; children?: string }) {
  return (
    <div>
      <div class="wb-strong">{title}</div>
      <dl>
        {rows.map(([key, does]) => (
          <div key={does} class="wb-keys-row">
            <dt>{key}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      {children && <p class="wb-dim">{children}</p>}
    </div>
  );
}
