/** What the panes of a memory view share: plans, the window over them, the selected nodes, and the places in use. */
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type Sides } from "../model/messages.ts";
import { type Traits } from "../model/traits.ts";
import { type Window } from "../render/memory/chart.ts";
import { decodePlan, nodesAt, type Place, type Plan } from "../render/memory/plan.ts";

const SIDES = ["before", "after"] as const;

/** A place in one of the plans. */
interface Spot {
  which: number;
  place: Place;
}

export class MemoryBoard {
  /** Of the keyboard. */
  readonly cursor = signal<Spot | null>(null);
  /** Of the pointer. */
  readonly hovered = signal<Spot | null>(null);
  readonly decoded: ReadonlySignal<{ plans: readonly Plan[]; trouble: string }>;
  /** Whether there is a plan, or the reason for none. */
  readonly shows = computed(() => this.decoded.value.plans.length > 0 || this.decoded.value.trouble !== "");
  /** null: all kernels. */
  readonly window = signal<Window | null>(null);
  /** Of each plan's graph. */
  readonly selection: ReadonlySignal<readonly ReadonlySet<number>[]>;

  /** `place` is the name of the window's trait. */
  constructor(
    private readonly traits: Traits,
    private readonly place: "viewport" | "memory_viewport" = "viewport",
  ) {
    const [plans, viewport, chosen] = [traits.get("plans"), traits.get(place), traits.get("selection")];
    this.decoded = computed(() => {
      try {
        return { plans: (plans.value ?? []).map(decodePlan), trouble: "" };
      } catch (error) {
        return { plans: [], trouble: error instanceof Error ? error.message : String(error) };
      }
    });
    effect(() => {
      // Places of other plans have no meaning in these.
      void this.decoded.value;
      this.cursor.value = null;
      this.hovered.value = null;
    });
    effect(() => {
      const { start = 0, end = 0, top = 0 } = viewport.value && "end" in viewport.value ? viewport.value : {};
      this.window.value = end > start ? { start, end, top } : null;
    });
    this.selection = computed(() => {
      const { value = {} } = chosen;
      return ("length" in value ? [value] : this.sides().map((side) => value[side])).map((list) => new Set(list));
    });
  }

  setWindow(window: Window | null): void {
    this.window.value = window;
    this.traits.set(this.place, window ?? {});
  }

  /** Put the keyboard at a place, and select its nodes. */
  choose(which: number, place: Place | null): void {
    const plan = this.decoded.peek().plans[which];
    this.cursor.value = place && { which, place };
    if (plan) this.select(which, place ? nodesAt(plan, place) : []);
  }

  select(which: number, nodes: number[]): void {
    const one = Array.isArray(this.traits.get("selection").peek());
    const side = this.sides()[which];
    const [before, after] = SIDES.map((each) => (each === side ? nodes : []));
    this.traits.set("selection", one ? nodes : { before, after });
  }

  /** The sides of the plans, where the selection has sides: one plan is that after. */
  private sides(): readonly (keyof Sides)[] {
    return SIDES.slice(-this.decoded.value.plans.length);
  }
}
