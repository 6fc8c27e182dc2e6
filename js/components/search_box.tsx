/** The search box: finds as one types, Enter goes to the next, Escape gives the keys back to the graph. */
import { batch, signal } from "@preact/signals";
import { createRef } from "preact";
import { type Picture } from "../graph/picture.ts";
import { FIELDS, search } from "../graph/search.ts";
import { type Stage } from "../render/stage.ts";

const EXAMPLES = `Substrings of op, name, type and attributes, all of which must match. Fields: ${FIELDS.map((f) => `${f}:`).join(" ")}
Examples:  op:conv2d dtype:int8   shape:64x64   -op:cast   "bias add"
All of it: ? in the graph.`;

export class Search {
  readonly query = signal("");
  readonly found = signal<readonly number[]>([]);
  /** The place in `found` that Enter has reached; -1 before the first. */
  readonly at = signal(-1);
  readonly field = createRef<HTMLInputElement>();
  /** Where the focus goes on Escape. */
  onleave: () => void = () => undefined;

  private searched: Picture | null = null;

  constructor(private readonly stage: Stage) {
    stage.events.on("scene", () => {
      if (this.query.value.trim() === "") return;
      // A group that Enter has opened makes a new scene of the same picture.
      if (stage.picture === this.searched) stage.setFound([...this.found.value]);
      else this.run(this.query.value);
    });
  }

  focus(): void {
    this.field.current?.focus();
    this.field.current?.select();
  }

  run(query: string): void {
    if (query.trim() === "") return this.clear(query);
    const { picture } = this.stage;
    const found = search(picture, query);
    this.searched = picture;
    this.set(query, found);
    this.stage.setFound(found);
  }

  clear(query = ""): void {
    this.set(query, []);
    this.stage.setFound(null);
  }

  step(by: 1 | -1): void {
    const found = this.found.value;
    if (found.length === 0) return;
    this.at.value = this.at.value < 0 && by < 0 ? found.length - 1 : (this.at.value + by + found.length) % found.length;
    void this.stage.reveal([found[this.at.value] ?? 0], false);
  }

  private set(query: string, found: readonly number[]): void {
    batch(() => {
      this.query.value = query;
      this.found.value = found;
      this.at.value = -1;
    });
  }
}

export function SearchBox({ search: state }: { search: Search }) {
  const key = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      state.clear();
      state.onleave();
    } else if (event.key === "Enter") state.step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  return (
    <div class="wb-search">
      <input
        ref={state.field}
        class="wb-input"
        type="search"
        placeholder="Search  op:conv2d"
        aria-label="Search the graph"
        title={EXAMPLES}
        data-testid="search"
        spellcheck={false}
        value={state.query.value}
        onInput={(event) => state.run(event.currentTarget.value)}
        onKeyDown={key}
      />
      <span class="wb-count" aria-live="polite" data-testid="found">
        {counter(state)}
      </span>
    </div>
  );
}

function counter({ query, found, at }: Search): string {
  const n = found.value.length;
  if (query.value.trim() === "") return "";
  return n === 0 ? "none" : at.value < 0 ? `${n}` : `${at.value + 1} / ${n}`;
}
