/** The keys of a view and the words of its search, as a card over the graph. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

type Row = readonly [key: string, does: string];

const GRAPH: readonly Row[] = [
  ["↑ ↓ ← →", "move along edges, and to neighbours"],
  ["Shift + arrow", "the same, and add to the selection"],
  ["Enter", "open or close a group"],
  ["/", "search"],
  ["f", "fit the whole graph"],
  ["h", "back to the beginning"],
  ["s", "zoom to the selection"],
  ["+  −", "zoom"],
  ["Page ↑ ↓", "move the view (Shift: sideways)"],
  ["[  ]", "select everything upstream, downstream"],
  ["e", "select one step more around the selection"],
  ["g", "select the whole group around the selection"],
  ["p", "select all paths between the selected nodes"],
  ["Ctrl + C", "copy the text of the selected nodes"],
  ["t", "edges by data type"],
  ["l", "legend"],
  ["m", "show or hide the map"],
  ["Esc", "clear the selection, leave the search"],
  ["?", "this list"],
  ["Shift + click", "add to the selection"],
  ["drag, wheel", "move the view, zoom (Shift + wheel: sideways)"],
  ["double-click", "open or close a group"],
];
const COMPARISON: readonly Row[] = [
  ["c", "changed only"],
  ["n", "next change"],
];
const TEXT: readonly Row[] = [["d", "the text, before and after"]];
const STEPS: readonly Row[] = [["j  k", "next, previous step"]];
const PASSES: readonly Row[] = [
  ["u  U", "undo, redo"],
  ["Alt + ↑ ↓, +, Delete, o", "on a pass: move, duplicate, remove it, its options"],
];
const FUSION: readonly Row[] = [["x  r  R", "cut the boundary, shade the region, step outward"]];

/** By the kind of a view's Shell; a view that is not listed has the keys of a graph only. */
const OF_VIEW: Record<string, readonly Row[]> = {
  "compare-view": COMPARISON,
  fusion: FUSION,
  stepper: [...COMPARISON, ...STEPS, ...TEXT],
  workbench: [...COMPARISON, ...TEXT, ...PASSES],
};

const QUERIES: readonly Row[] = [
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

export function keysOf(view: string): readonly Row[] {
  return [...GRAPH, ...(OF_VIEW[view] ?? [])];
}

interface KeysCardProps {
  view: string;
  close: () => void;
  /** Puts the focus back where it was: on a key or the button, not where a click has moved it. */
  goBack: () => void;
}

export function KeysCard({ view, close, goBack }: KeysCardProps) {
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => card.current?.focus(), []);
  const leave = () => {
    close();
    goBack();
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
      <List title="Keys" rows={keysOf(view)} />
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

function List({ title, rows, children }: { title: string; rows: readonly Row[]; children?: string }) {
  return (
    <div>
      <div class="wb-strong">{title}</div>
      <dl>
        {rows.map(([key, does]) => (
          <div key={key} class="wb-keys-row">
            <dt>{key}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      {children && <p class="wb-dim">{children}</p>}
    </div>
  );
}
