/** The list of keys, as a card over the page that any key closes. */
import { h } from "./dom.ts";

const KEYS: [string, string][] = [
  ["↑ ↓ ← →", "move along edges, and to neighbours"],
  ["Enter", "open or close a group"],
  ["/", "search"],
  ["f", "fit the whole graph"],
  ["h", "back to the beginning"],
  ["s", "zoom to the selection"],
  ["c", "changed only"],
  ["+  −", "zoom"],
  ["[  ]", "select everything upstream, downstream"],
  ["e", "select one step more around the selection"],
  ["p", "select all paths between the selected nodes"],
  ["Shift + click", "add to the selection"],
  ["t", "edges by data type"],
  ["l", "legend"],
  ["m", "show or hide the map"],
  ["n", "next change"],
  ["d", "the text, before and after"],
  ["j  k", "next, previous step (in a trace)"],
  ["u  U", "undo, redo"],
  ["Alt + ↑ ↓, +, Delete, o", "on a pass: move, duplicate, remove it, its options"],
  ["x  r  R", "cut the boundary, shade the region, step outward (fusion)"],
  ["Esc", "clear the selection, leave the search"],
  ["?", "this list"],
  ["drag, wheel", "pan, zoom (Shift + wheel: sideways)"],
  ["double-click", "open or close a group"],
];

const QUERIES: [string, string][] = [
  ["cast", "op, name, type, attributes or group has it"],
  ["op:conv2d", "the operator has it"],
  ["name:layer_0", "the name, or where it comes from in the source"],
  ["dtype:int8", "the data type"],
  ["shape:64x64", "these dimensions beside each other: 64 is not 640"],
  ["type:(1, 64)", "the type as it is written"],
  ["attr:strides", "an attribute, its name or its value"],
  ["kind:constant", "op, param, constant, tuple, call, function, if …"],
  ["group:fused", "a kernel or scope around it"],
  ["mark:added", "kept, changed, removed, added, merged, split"],
  ["-op:cast", "not"],
  ["\"bias add\"", "blanks belong to the word"],
];

export function keysCard(close: () => void): HTMLElement {
  const list = (rows: [string, string][]) => h("dl", {}, rows.flatMap(([key, does]) => [h("dt", {}, key), h("dd", {}, does)]));
  const card = h("div", { class: "wb-keys", role: "dialog", "aria-label": "Keys and search", tabindex: "-1", "data-testid": "keys" },
    h("div", {}, h("div", { class: "wb-strong" }, "Keys"), list(KEYS)),
    h("div", {}, h("div", { class: "wb-strong" }, "Search"), list(QUERIES), h("p", { class: "wb-dim" }, "Words are joined by “and”, and match anywhere in what they are compared with. Enter goes to the next, Shift + Enter to the one before.")));
  // Focus first: an element that is removed while it has the focus reports its blur in the middle of the removal.
  const done = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    close();
    card.remove();
  };
  card.addEventListener("keydown", done);
  card.addEventListener("click", done);
  card.addEventListener("blur", () => queueMicrotask(() => card.remove()));
  return card;
}
