/** One tab stop for a list: the arrow keys move from row to row, and inside a row from control to control. */
import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Place {
  row: number;
  column: number;
}

/** Properties of a control at a place of the list. */
export type Stop = (row: number, column: number) => { tabIndex: number; "data-stop": string; onFocus: () => void };

interface Roving<List extends HTMLElement> {
  list: RefObject<List | null>;
  stop: Stop;
  /** Handle an arrow key, Home or End in the list; true if it was one. */
  onKey: (event: KeyboardEvent) => boolean;
  /** Move the focus to a row's control, when the row is drawn. */
  focus: (row: number, column?: number) => void;
}

/** `rows` are the numbers of the rows that are shown; `home` is the column of each row's main control. */
export function useRoving<List extends HTMLElement>(rows: readonly number[], home = 0): Roving<List> {
  const list = useRef<List>(null);
  const [at, setAt] = useState<Place>({ row: rows[0] ?? 0, column: home });
  const wanted = useRef<Place | null>(null);
  const here = rows.includes(at.row)
    ? at
    : { row: Math.max(...rows.filter((row) => row < at.row), rows[0] ?? 0), column: home };
  const go = ({ row, column }: Place): boolean => {
    const found = list.current?.querySelector<HTMLElement>(`[data-stop="${row}.${column}"]:not(:disabled)`);
    found?.focus();
    return Boolean(found);
  };
  useLayoutEffect(() => {
    // A row may come late: the focus is not taken from where the user has gone meanwhile.
    if (!holdsFocus(list.current)) wanted.current = null;
    if (wanted.current && go(wanted.current)) wanted.current = null;
  });
  return {
    list,
    stop: (row, column) => ({
      tabIndex: row === here.row && column === here.column ? 0 : -1,
      "data-stop": `${row}.${column}`,
      onFocus: () => {
        wanted.current = null;
        setAt({ row, column });
      },
    }),
    onKey: (event) => {
      const place = placeOf(event.target);
      if (!place || event.altKey || event.ctrlKey || event.metaKey) return false;
      const to = target(event.key, place, rows);
      if (!to) return false;
      event.preventDefault();
      if (!go(to) && to.row !== place.row) go({ row: to.row, column: home });
      return true;
    },
    focus: (row, column = home) => {
      if (!go({ row, column })) wanted.current = { row, column };
    },
  };
}

/** Whether the focus is in the list's widget, or nowhere. */
function holdsFocus(list: HTMLElement | null): boolean {
  const { activeElement, body } = document;
  const widget = list?.closest(".wb") ?? list?.parentElement;
  return !activeElement || activeElement === body || widget?.contains(activeElement) === true;
}

function placeOf(target: EventTarget | null): Place | null {
  const [row, column] = (target instanceof HTMLElement ? (target.dataset.stop ?? "") : "").split(".").map(Number);
  return row === undefined || column === undefined ? null : { row, column };
}

function target(key: string, { row, column }: Place, rows: readonly number[]): Place | null {
  const at = rows.indexOf(row);
  const to = (place: number) => ({ row: rows[Math.max(0, Math.min(rows.length - 1, place))] ?? row, column });
  switch (key) {
    case "ArrowUp":
      return to(at - 1);
    case "ArrowDown":
      return to(at + 1);
    case "Home":
      return to(0);
    case "End":
      return to(rows.length - 1);
    case "ArrowLeft":
      return { row, column: column - 1 };
    case "ArrowRight":
      return { row, column: column + 1 };
    default:
      return null;
  }
}
