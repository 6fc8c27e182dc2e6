/**
 * One tab stop for a list: the arrow keys move from row to row, and inside a row from control to control. As the `ref` of
 * a list, it keeps the `tabindex` of all controls in the list, also of those that come later.
 */

const ROWS = "li, tr, .wb-legend-row, .wb-ribbon, [role=tablist]";
const CONTROLS = "button:not([role=menuitem]), input[type=checkbox], summary";
/** Forms have tab stops of their own. */
const APART = "[hidden], .wb-details, details:not([open]) > ul";
/** The control of a row that gets the focus first. */
const HOME = ".wb-pass-name";
const CURRENT = "[aria-current=step], [aria-selected=true]";

const known = new WeakSet<HTMLElement>();
/** The rows that get the focus when they are drawn. */
const wanted = new WeakMap<HTMLElement, number>();

export function roving(list: HTMLElement | null): void {
  if (!list || known.has(list)) return;
  known.add(list);
  let stop: HTMLElement | undefined;
  let at = 0;
  const mark = () => {
    const rows = rowsOf(list);
    const controls = rows.flat();
    const first = (test: (control: HTMLElement) => boolean) => controls.find((each) => usable(each) && test(each));
    stop =
      first((each) => each === document.activeElement) ??
      first((each) => each.matches(CURRENT)) ??
      first((each) => each === stop) ??
      home(rows[Math.min(at, rows.length - 1)]);
    at = rows.findIndex((row) => row.some((each) => each === stop));
    for (const each of controls) each.tabIndex = each === stop ? 0 : -1;
  };
  const drawn = (changes: readonly MutationRecord[]) => {
    mark();
    // The focus goes with the current row: a key anywhere in the widget may make another row current.
    const left = changes.some(
      (each) => each.attributeName === "aria-current" && each.target === document.activeElement,
    );
    if (left) list.querySelector<HTMLElement>("[aria-current=step]")?.focus();
    // A row may come late: the focus is not taken from where the user has gone meanwhile.
    if (!holdsFocus(list)) wanted.delete(list);
    focusRow(list, wanted.get(list) ?? -1);
  };
  list.addEventListener("focusin", () => {
    wanted.delete(list);
    mark();
  });
  list.addEventListener("keydown", (event) => move(rowsOf(list), event));
  const attributeFilter = ["hidden", "disabled", "open", "aria-current", "aria-selected"];
  new MutationObserver(drawn).observe(list, { childList: true, subtree: true, attributeFilter });
  mark();
}

/** Move the focus to a row, by its place among the children of the list: now, or when the row is drawn. */
export function focusRow(list: HTMLElement | null, row: number): void {
  if (!list || row < 0) return;
  const found = home(rowsOf(list).find(([control]) => list.children[row]?.contains(control ?? null)));
  if (found) found.focus();
  else wanted.set(list, row);
}

/** The place of the row with a control among the children of the list; -1 for anything else. */
export function rowOf(list: HTMLElement | null, target: EventTarget | null): number {
  const control = target instanceof Element && target.matches(CONTROLS) && !target.closest(APART) ? target : null;
  return [...(list?.children ?? [])].findIndex((row) => row.contains(control));
}

function rowsOf(list: HTMLElement): HTMLElement[][] {
  const rows = new Map<Element, HTMLElement[]>();
  for (const control of list.querySelectorAll<HTMLElement>(CONTROLS)) {
    const [row, apart] = [control.closest(ROWS), control.closest(APART)];
    if (!row || !list.contains(row) || (apart && list.contains(apart))) continue;
    const others = rows.get(row);
    if (others) others.push(control);
    else rows.set(row, [control]);
  }
  return [...rows.values()].filter((row) => home(row));
}

const usable = (control: HTMLElement | undefined) => control?.matches(":disabled") === false;

function home(row: HTMLElement[] = []): HTMLElement | undefined {
  return row.find((control) => control.matches(HOME)) ?? row.find(usable);
}

/** Whether the focus is in the list's widget, or nowhere. */
function holdsFocus(list: HTMLElement): boolean {
  const { activeElement, body } = document;
  const widget = list.closest(".wb") ?? list.parentElement;
  return !activeElement || activeElement === body || widget?.contains(activeElement) === true;
}

function move(rows: HTMLElement[][], event: KeyboardEvent): void {
  const { target, key } = event;
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
  if (!(target instanceof HTMLElement)) return;
  const at = rows.findIndex((each) => each.includes(target));
  const row = rows[at];
  if (!row) return;
  const column = row.indexOf(target);
  const last = rows.length - 1;
  const to = (place: number) => {
    const other = rows[Math.max(0, Math.min(last, place))];
    return usable(other?.[column]) ? other?.[column] : home(other);
  };
  const next = {
    ArrowUp: () => to(at - 1),
    ArrowDown: () => to(at + 1),
    Home: () => (last > 0 ? to(0) : row[0]),
    End: () => (last > 0 ? to(last) : row.at(-1)),
    ArrowLeft: () => row.at(column - 1),
    ArrowRight: () => row[(column + 1) % row.length],
  }[key];
  if (!next) return;
  event.preventDefault();
  const control = next();
  if (usable(control)) control?.focus();
}
