/** A counter of each kind of change; a click goes to the next one. */
import { useMemo } from "preact/hooks";
import { MarkSign } from "../components/icon.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { markCounts } from "../graph/muted.ts";
import { MARKS, type Picture } from "../graph/picture.ts";
import { type Stage } from "../render/stage.ts";

/** Numbers of MARKS in the order of the counters. */
const ORDER = [3, 2, 1, 4, 5] as const;

/** The changed nodes of a picture, one after the other, from the top or of one kind. */
export class Changes {
  private picture: Picture | null = null;
  private nodes: number[][] = [];
  private at: number[] = [];
  private any = -1;

  constructor(private readonly stage: Stage) {}

  /** The nodes with that mark. */
  marked(mark: number): readonly number[] {
    const { picture } = this.stage;
    if (picture !== this.picture) {
      this.picture = picture;
      this.nodes = MARKS.map((_, each) => marked(picture, each));
      this.at = MARKS.map(() => -1);
      this.any = -1;
    }
    return this.nodes[mark] ?? [];
  }

  /** Show the next node with that mark. */
  next(mark: number): void {
    const list = this.marked(mark);
    if (list.length === 0) return;
    this.at[mark] = ((this.at[mark] ?? -1) + 1) % list.length;
    void this.stage.reveal([list[this.at[mark]] ?? 0], false);
  }

  /** Show the next change of any kind, from top to bottom. */
  nextOfAny(): void {
    const { scene } = this.stage;
    if (!scene) return;
    const y = (node: number) => scene.y[scene.visible.itemOf[node] ?? -1] ?? Infinity;
    const list = [...new Set(ORDER.flatMap((mark) => this.marked(mark)))].sort((a, b) => y(a) - y(b) || a - b);
    if (list.length === 0) return;
    this.any = (this.any + 1) % list.length;
    void this.stage.reveal([list[this.any] ?? 0], false);
  }
}

interface ChipsProps {
  stage: Stage;
  changes: Changes;
  /** The words for MARKS. */
  names?: readonly string[];
}

export function Chips({ stage, changes, names = MARKS }: ChipsProps) {
  const picture = stageSignals(stage).picture.value;
  const counts = useMemo(() => {
    const numbers = markCounts(picture);
    const all = ORDER.map((mark) => ({ mark, name: MARKS[mark], count: numbers[mark] ?? 0 }));
    return all.filter(({ count }) => count > 0);
  }, [picture]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend
    <div class="wb-chips" role="group" aria-label="Changes">
      {counts.map(({ mark, name, count }) => (
        <button
          key={mark}
          type="button"
          class={`wb-chip wb-mark-${name}`}
          data-testid={`chip-${name}`}
          title={`Go to the next ${names[mark]} node`}
          onClick={() => changes.next(mark)}
        >
          <span class="wb-sign" aria-hidden="true">
            <MarkSign mark={mark} />
          </span>
          {`${count} ${names[mark]}`}
        </button>
      ))}
      {counts.length === 0 && picture.compares && picture.nodeCount > 0 && (
        <span class="wb-dim">{regrouped(picture)}</span>
      )}
    </div>
  );
}

function regrouped(picture: Picture): string {
  if (picture.groups.side.some((side) => side !== 3)) return "same ops, grouped differently";
  return picture.lowers ? "same ops, lowered" : "no change";
}

function marked(picture: Picture, mark: number): number[] {
  if (mark === 0) return [];
  const [before, after] = picture.mark;
  const has = (side: number, node: number) => ((picture.side[node] ?? 0) & side) !== 0;
  const out: number[] = [];
  for (let u = 0; u < picture.nodeCount; u++)
    if ((has(1, u) && before[u] === mark) || (has(2, u) && after[u] === mark)) out.push(u);
  return out;
}
