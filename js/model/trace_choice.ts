/** The step of a trace that is shown, the pinned ones, and the steps that the list and the slider have. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { type CheckState, type Listing, type StepState } from "./messages.ts";
import { type Pair } from "./trace_store.ts";
import { type Traits } from "./traits.ts";

/** The step that is the whole trace: its start against its end. */
const WHOLE = -1;

export type Checks = Readonly<Record<string, CheckState>>;

/** Whether the pass changed the outputs. */
export function failed(check: CheckState | undefined): check is CheckState {
  return check?.status === "different";
}

export class TraceChoice {
  readonly filter = signal("");
  readonly listing: ReadonlySignal<Listing>;
  readonly checks: ReadonlySignal<Checks>;
  readonly step: ReadonlySignal<number>;
  readonly pinned: ReadonlySignal<readonly number[]>;
  /** The passes that changed nothing are left out. */
  readonly hide: ReadonlySignal<boolean>;
  /** The two pinned states are on the screen. */
  readonly comparing: ReadonlySignal<boolean>;
  /** The states on the screen. */
  readonly states: ReadonlySignal<Pair>;
  /** Of the two graphs. */
  readonly titles: ReadonlySignal<readonly [string, string]>;
  /** Places of the steps that the list shows. */
  readonly visible: ReadonlySignal<readonly number[]>;
  /** Places of the steps on the slider: those of the list, and the one that is shown. */
  readonly onSlider: ReadonlySignal<readonly number[]>;

  constructor(private readonly traits: Traits) {
    const [listing, checks, step, pinned, shows, hide] = [
      traits.get("listing"),
      traits.get("checks"),
      traits.get("step"),
      traits.get("pinned"),
      traits.get("shows"),
      traits.get("hide_unchanged"),
    ];
    this.listing = computed(() => listing.value ?? {});
    this.checks = computed(() => checks.value ?? {});
    this.step = computed(() => step.value ?? WHOLE);
    this.pinned = computed(() => pinned.value ?? []);
    this.hide = computed(() => hide.value !== false);
    this.comparing = computed(() => shows.value === "pinned" && this.pinned.value.length === 2);
    let last: Pair = [0, 0];
    this.states = computed(() => {
      const [before, after] = this.statesShown();
      if (before !== last[0] || after !== last[1]) last = [before, after];
      return last;
    });
    this.titles = computed(() => this.titlesShown());
    this.visible = computed(() => this.stepsListed());
    this.onSlider = computed(() => {
      const [visible, shown] = [this.visible.value, this.step.value];
      return visible.includes(shown) || shown < 0 ? visible : [...visible, shown].sort((a, b) => a - b);
    });
  }

  get steps(): readonly StepState[] {
    return this.listing.value.steps ?? [];
  }

  /** The number of states. */
  get count(): number {
    return Math.max(0, ...this.steps.flatMap((step) => [step.before, step.after])) + 1;
  }

  /** The name of a step, or of the trace's start. */
  name(step: number): string {
    return step < 0 ? "start" : (this.steps[step]?.name ?? "");
  }

  /** The state after a step. */
  after(step: number): number {
    return this.steps[step]?.after ?? 0;
  }

  go(step: number): void {
    this.traits.set("shows", "step");
    this.traits.set("step", step);
  }

  /** Pin or unpin the state after a step; of two, A is the earlier state. */
  pin(step: number): void {
    const pinned = this.pinned.value;
    const next = pinned.includes(step) ? pinned.filter((other) => other !== step) : [...pinned.slice(-1), step];
    next.sort((a, b) => this.after(a) - this.after(b));
    this.traits.set("pinned", next);
    this.traits.set("shows", next.length === 2 ? "pinned" : "step");
  }

  compare(on: boolean): void {
    this.traits.set("shows", on ? "pinned" : "step");
  }

  setHide(hide: boolean): void {
    this.traits.set("hide_unchanged", hide);
  }

  /** The listed step before or after one; the whole trace is before the first. */
  next(from: number, direction: 1 | -1): number {
    const listed = [WHOLE, ...this.visible.value];
    const at = direction > 0 ? listed.find((i) => i > from) : listed.filter((i) => i < from).at(-1);
    return at ?? from;
  }

  private statesShown(): Pair {
    const [a, b] = this.pinned.value;
    if (this.comparing.value && a !== undefined && b !== undefined) return [this.after(a), this.after(b)];
    const step = this.steps[this.step.value];
    return step ? [step.before, step.after] : [0, this.after(this.steps.length - 1)];
  }

  private titlesShown(): readonly [string, string] {
    const of = (step: number) => this.listing.value.titles?.[step - WHOLE] ?? ["", "", "", ""];
    const [a = WHOLE, b = WHOLE] = this.pinned.value;
    if (this.comparing.value) return [of(a)[2], of(b)[3]];
    const [before, after] = of(this.step.value);
    return [before, after];
  }

  private stepsListed(): number[] {
    const wanted = this.filter.value.trim().toLowerCase();
    const [hide, checks] = [this.hide.value, this.checks.value];
    return this.steps.flatMap((step, i) => {
      const quiet = hide && step.status !== "changed" && step.status !== "error" && !failed(checks[i]);
      return quiet || !step.name.toLowerCase().includes(wanted) ? [] : [i];
    });
  }
}
