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
  ["p", "select all paths between the selected nodes"],
  ["Shift + click", "add to the selection"],
  ["t", "edges by data type"],
  ["m", "show or hide the map"],
  ["n", "next change"],
  ["u  U", "undo, redo"],
  ["Esc", "clear the selection, leave the search"],
  ["?", "this list"],
  ["drag, wheel", "pan, zoom (Shift + wheel: sideways)"],
  ["double-click", "open or close a group"],
];

export function keysCard(close: () => void): HTMLElement {
  const card = h("div", { class: "wb-keys", role: "dialog", "aria-label": "Keys", tabindex: "-1" },
    h("div", { class: "wb-strong" }, "Keys"),
    h("dl", {}, KEYS.flatMap(([key, does]) => [h("dt", {}, key), h("dd", {}, does)])));
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
