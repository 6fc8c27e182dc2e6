/** The rows of two texts: one line of each, with a sign between them. */
// biome-ignore-all lint/a11y/useSemanticElements: rows of a grid layout, which are skipped while they are out of sight
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus, and names the row that the keyboard is on

import { Component, type ComponentChild, type ComponentType, type RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { SIGNS } from "../components/icon.tsx";
import { usePageId } from "../components/mount.tsx";
import { type Stage } from "../render/stage.ts";
import { type Folded } from "../text/compare.ts";
import { type Piece } from "../text/words.ts";
import { type PrintedPair, type Side, type TextView } from "./text_view.ts";

export const SIGN = { ...SIGNS, same: "", moved: "↕" } as const;

export function TextRows({ view, stage }: { view: TextView; stage: Stage | undefined }) {
  const id = usePageId();
  const body = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const select = useSelect(view, stage, body);
  useScroll(view, body);
  useMore(view, body, end);
  useMarks(view, body);
  const row = view.cursor.value;
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") view.move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && event.target === body.current) select(view.cursor.peek());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const click = ({ target }: MouseEvent) => {
    // Selecting words to copy them is not about the picture.
    if (!(target instanceof Element) || String(getSelection() ?? "") !== "") return;
    const r = Number(target.closest<HTMLElement>("[data-row]")?.dataset.row ?? -1);
    const [side, line] = target.closest<HTMLElement>("[data-line]")?.dataset.line?.split(" ").map(Number) ?? [];
    if (r < 0) return;
    view.cursor.value = r;
    select(r, side === 0 ? 0 : side === 1 ? 1 : undefined, line);
  };
  const found = view.found.value[view.place.value] ?? -1;
  return (
    <div
      class="wb-text"
      ref={body}
      role="grid"
      tabIndex={0}
      aria-label="Text before and after"
      aria-activedescendant={row >= 0 ? `${id}-${row}` : undefined}
      data-testid="text-diff"
      onClick={click}
      onKeyDown={key}
    >
      {view.entries.value.map((entry) =>
        typeof entry === "number" ? (
          <Row
            key={entry}
            id={`${id}-${entry}`}
            pair={view.pair}
            r={entry}
            look={[
              view.current.value.has(entry) ? " wb-current" : "",
              entry === found ? " wb-text-found" : "",
              entry === row ? " wb-text-cursor" : "",
            ].join("")}
          />
        ) : (
          <Fold key={`fold ${entry.from}`} fold={entry} open={() => view.open(entry)} />
        ),
      )}
      <div ref={end} class="wb-text-end" />
    </div>
  );
}

const Row = memo(({ id, pair, r, look }: { id: string; pair: PrintedPair; r: number; look: string }) => {
  const row = pair.rows[r];
  if (!row) return null;
  return (
    <div id={id} class={`wb-text-row wb-text-${row.kind}${look}`} role="row" data-row={r}>
      <Line pair={pair} side={0} line={row.before} pieces={row.words?.[0]} />
      <span class="wb-text-sign" role="gridcell" aria-label={row.kind}>
        {SIGN[row.kind]}
      </span>
      <Line pair={pair} side={1} line={row.after} pieces={row.words?.[1]} />
    </div>
  );
});

interface LineProps {
  pair: PrintedPair;
  side: Side;
  line: number;
  pieces: readonly Piece[] | undefined;
}

function Line({ pair, side, line, pieces }: LineProps) {
  const text = pair.lines[side][line];
  const binds = pair.nodesOf(side, line).length > 0;
  return (
    <>
      <span class="wb-text-number" aria-hidden="true">
        {text === undefined ? "" : line + 1}
      </span>
      <span
        role="gridcell"
        class={`wb-text-line${text === undefined ? " wb-text-none" : ""}${binds ? " wb-text-binds" : ""}`}
        data-line={text === undefined ? undefined : `${side} ${line}`}
      >
        {text !== undefined && <Words pieces={pieces ?? [{ text, differs: false }]} />}
      </span>
    </>
  );
}

/** Words that differ marked, and the printer's remarks (types, spans) dim. */
function Words({ pieces }: { pieces: readonly Piece[] }) {
  let remark = false;
  const parts = pieces.flatMap(({ text, differs }) =>
    text.split(/(?=\/\*)|(?<=\*\/)/).map((part) => {
      remark ||= part.startsWith("/*");
      const look = [differs ? "wb-text-differs" : "", remark ? "wb-dim" : ""].filter(Boolean).join(" ");
      if (part.endsWith("*/")) remark = false;
      return { part, look };
    }),
  );
  return (
    <>
      {parts.map(({ part, look }, i) =>
        look ? (
          <span key={i} class={look}>
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}

function Fold({ fold, open }: { fold: Folded; open: () => void }) {
  return (
    <div role="row">
      <div role="gridcell">
        <button type="button" class="wb-text-fold" data-testid="text-fold" onClick={open}>
          ⋯ {(fold.to - fold.from).toLocaleString("en")} equal lines
        </button>
      </div>
    </div>
  );
}

/** Select in the picture what a row binds; what is selected there comes into sight here, unless it was selected here. */
function useSelect(view: TextView, stage: Stage | undefined, body: RefObject<HTMLElement | null>) {
  const own = useRef(false);
  useEffect(
    () =>
      stage?.events.on("select", () => {
        const [first] = view.current.value;
        if (first !== undefined && !own.current && (body.current?.clientHeight ?? 0) > 0) view.show(first);
      }),
    [view, stage, body],
  );
  return (r: number, side?: Side, line?: number) => {
    const row = view.pair.rows[r];
    if (!row) return;
    const at = side ?? (row.after >= 0 ? 1 : 0);
    const nodes = view.pair.nodesOf(at, line ?? (at === 1 ? row.after : row.before));
    if (nodes.length === 0) return;
    own.current = true;
    void stage?.reveal([...nodes], false).finally(() => {
      own.current = false;
    });
  };
}

function useScroll(view: TextView, body: RefObject<HTMLElement | null>): void {
  const goal = view.goal.value;
  useLayoutEffect(() => {
    const box = body.current;
    const element = goal && box?.querySelector<HTMLElement>(`[data-row="${goal.row}"]`);
    if (!box || !element) return;
    const go = () => {
      const [top, height] = [element.offsetTop, element.offsetHeight];
      const inSight = top >= box.scrollTop && top + height <= box.scrollTop + box.clientHeight;
      if (goal.nearest && inSight) return;
      box.scrollTop = top - box.clientHeight / 3;
    };
    go();
    // Rows out of sight have no height yet, only a guess: rows that come into sight move this one, so look again.
    requestAnimationFrame(() => {
      go();
      requestAnimationFrame(go);
    });
  }, [goal, body]);
}

/** Put more rows into the page when the end is near. */
function useMore(view: TextView, body: RefObject<HTMLElement | null>, end: RefObject<HTMLElement | null>): void {
  const last = view.end.value;
  useEffect(() => {
    if (!end.current || view.complete) return;
    // A new watcher for each chunk: one reports the end only when it comes into sight, and it may have stayed there.
    const watcher = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) view.more();
      },
      { root: body.current, rootMargin: "600px" },
    );
    watcher.observe(end.current);
    return () => watcher.disconnect();
  }, [view, last, body, end]);
}

function useMarks(view: TextView, body: RefObject<HTMLElement | null>): void {
  const marks = useRef(new SearchMarks());
  const [found, entries, words] = [view.found.value, view.entries.value, view.needle.value];
  useLayoutEffect(() => {
    const rows = new Set(found);
    const drawn = entries.filter((entry) => typeof entry === "number" && rows.has(entry));
    const lines = drawn.flatMap((r) => [
      ...(body.current?.querySelectorAll(`[data-row="${String(r)}"] .wb-text-line`) ?? []),
    ]);
    marks.current.show(lines.flatMap((line) => occurrences(line, words)));
  }, [found, entries, words, body]);
  useLayoutEffect(() => () => marks.current.show([]), []);
}

const NAME = "wb-found";

/** Marks of a tab on found words, which the browser paints where it can. `CSS.highlights` is one map for the page: all tabs share one entry. */
class SearchMarks {
  private ranges: readonly Range[] = [];

  show(ranges: readonly Range[]): void {
    if (typeof Highlight !== "function") return;
    const shared = CSS.highlights.get(NAME) ?? new Highlight();
    CSS.highlights.set(NAME, shared);
    for (const range of this.ranges) shared.delete(range);
    for (const range of ranges) shared.add(range);
    this.ranges = ranges;
  }
}

/** Where words occur in an element, whatever elements the text is made of. */
function occurrences(element: Element, words: string, most = 200): Range[] {
  const wanted = words.toLowerCase();
  if (wanted === "") return [];
  const nodes: Text[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode instanceof Text) nodes.push(walker.currentNode);
  const whole = nodes.map((node) => node.data.toLowerCase()).join("");
  const ranges: Range[] = [];
  for (
    let at = whole.indexOf(wanted);
    at >= 0 && ranges.length < most;
    at = whole.indexOf(wanted, at + wanted.length)
  ) {
    const range = document.createRange();
    range.setStart(...place(nodes, at));
    range.setEnd(...place(nodes, at + wanted.length));
    ranges.push(range);
  }
  return ranges;
}

function place(nodes: readonly Text[], offset: number): [Node, number] {
  let left = offset;
  for (const node of nodes) {
    if (left <= node.length) return [node, left];
    left -= node.length;
  }
  return [document, 0];
}

/** A component that is drawn again only where one of its properties is another value. */
function memo<P extends object>(draw: (props: P) => ComponentChild): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const names = Object.keys(next) as (keyof P)[];
      return names.some((name) => next[name] !== this.props[name]);
    }

    render() {
      return draw(this.props);
    }
  };
}
