/** The pair of states on the stage: what is missing is asked for, and the picture before stays until it is there. */
import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { stageSignals } from "../components/stage_signals.ts";
import { type Place } from "../model/messages.ts";
import { type Model, PairModel, watch } from "../model/model.ts";
import { type TraceChoice } from "../model/trace_choice.ts";
import { around, onScreen, type Pair, type PrintedModule, type TraceStore, type Wish } from "../model/trace_store.ts";
import { type Stage } from "../render/stage.ts";

const NONE: Pair = [-1, -1];

export class TraceScreen {
  /** The model of the comparison. */
  readonly pair: PairModel;
  /** The reason why the states of the choice cannot be shown; "" if there is none. */
  readonly lost: ReadonlySignal<string>;
  /** The graphs of the choice are on their way; the stage still has those before. */
  readonly waiting: ReadonlySignal<boolean>;
  /** The history of the selected node; null without one. While it is on its way, the last one. */
  readonly history: ReadonlySignal<readonly Place[] | null>;
  /** The states of the stage's picture. */
  readonly shown: ReadonlySignal<Pair>;
  private readonly onStage: Signal<Pair> = signal(NONE);
  /** The states of the picture that the stage has or has just been given. */
  private given: Pair = NONE;
  /** The states that the stage is to have. */
  private readonly target: Signal<Pair> = signal(NONE);
  /** Nodes to select when the picture that is being arranged is on the screen. */
  private wanted: Place | null = null;
  /** The states whose texts were asked for before all else: once is enough. */
  private urged: Pair = NONE;
  private readonly ends: (() => void)[];

  constructor(
    model: Model,
    private readonly stage: Stage,
    private readonly choice: TraceChoice,
    private readonly store: TraceStore,
  ) {
    this.pair = new PairModel(model);
    this.shown = this.onStage;
    this.lost = computed(() => {
      store.news.value;
      return store.lost(onScreen(choice.states.value));
    });
    this.waiting = computed(() => !this.lost.value && !same(choice.states.value, this.target.value));
    const node = computed(() => this.selectedNode());
    let last: readonly Place[] | null = null;
    this.history = computed(() => {
      store.news.value;
      const lost = node.value && store.lost([["lineage", ...node.value]]);
      last = node.value && !lost ? (store.lineage(...node.value) ?? last) : null;
      return last;
    });
    this.ends = [
      effect(() => this.fetch(choice.states.value)),
      effect(() => {
        store.news.value;
        this.draw(choice.states.value);
      }),
      effect(() => {
        if (node.value) store.retry([["lineage", ...node.value]]);
      }),
      // the stage selects in every new picture
      stage.events.on("select", () => {
        this.onStage.value = this.given;
      }),
      stage.events.on("scene", () => this.selectWanted()),
    ];
  }

  /** Draw with the stage; `bind` connects it with the model of the comparison. */
  start(bind: (pair: PairModel) => () => void): void {
    // before `bind` hears of the pair and makes its picture
    this.ends.push(
      watch(this.pair, ["before"], () => {
        this.given = this.target.peek();
      }),
      bind(this.pair),
    );
  }

  /** The texts of the states on the screen; null until they are here. They are asked for, the next step's too. */
  texts(): [PrintedModule, PrintedModule] | null {
    this.store.news.value;
    const states = this.onStage.value;
    if (states[0] < 0) return null;
    const [first, second] = [this.store.text(states[0]), this.store.text(states[1])];
    if (!first || !second) {
      this.store.want(textsOf(states), same(states, this.urged) ? 0 : 2);
      this.urged = states;
      return null;
    }
    const { choice } = this;
    const next = [1, -1] as const;
    const steps = next.map((direction) => choice.steps[choice.next(choice.step.peek(), direction)]);
    this.store.want(steps.flatMap((step) => (step ? textsOf([step.before, step.after]) : [])));
    return [first, second];
  }

  /** The reason for a missing text; "" where the text is here. */
  lostText(): string {
    this.store.news.value;
    return this.store.lost(textsOf(this.onStage.value));
  }

  /** Ask once more for the texts of the states on the screen, if one could not be answered. */
  retryTexts(): void {
    if (this.lostText()) this.store.retry(textsOf(this.onStage.peek()));
  }

  /** Go to the pass that made a state, with the node selected in it. */
  visit(place: Place): void {
    const { steps } = this.choice;
    // the start is the first pass's input
    const first = steps.findIndex((step) => step.before === place.state && step.after !== place.state);
    this.wanted = place;
    this.choice.go(place.step >= 0 ? place.step : Math.max(0, first));
    this.selectWanted();
  }

  /** Ask once more for what the screen needs. */
  retry(): void {
    this.store.retry([...onScreen(this.choice.states.peek()), ...textsOf(this.onStage.peek())]);
  }

  dispose(): void {
    for (const end of this.ends) end();
  }

  /** The user chose these states, so what was lost is asked for again. */
  private fetch(states: Pair): void {
    const { store, choice } = this;
    if (this.wanted && !states.includes(this.wanted.state)) this.wanted = null;
    store.retry(onScreen(states));
    const pairs = choice.steps.map((step): Pair => [step.before, step.after]);
    const ends: Pair = [0, choice.after(choice.steps.length - 1)];
    const distinct = new Map([...pairs, ends].map((pair) => [pair.join(), pair]));
    const near = Math.min(store.near(states[0]), store.near(states[1]));
    store.want(around(states, [...distinct.values()], choice.count, near));
  }

  private draw(states: Pair): void {
    const { store, choice } = this;
    const titles = choice.titles.value;
    if (same(states, this.target.peek())) return this.pair.setTitles(titles);
    const [before, after, diff] = [store.graph(states[0]), store.graph(states[1]), store.diff(states)];
    if (!before || !after || !diff) return;
    this.target.value = states;
    this.pair.put({ before, after, diff, titles: [...titles] });
  }

  /** The state and the node of a lone selection, on the side after where it is on both. */
  private selectedNode(): readonly [number, number] | null {
    const { selection, picture } = stageSignals(this.stage);
    const [u, more] = selection.value;
    if (u === undefined || more !== undefined) return null;
    const side = (picture.value.id[1][u] ?? -1) >= 0 ? 1 : 0;
    const state = this.given[side];
    const node = picture.value.id[side][u] ?? -1;
    return state < 0 || node < 0 ? null : [state, node];
  }

  private selectWanted(): void {
    const { wanted, stage } = this;
    const shown = this.onStage.peek();
    if (!wanted || !same(shown, this.target.peek())) return;
    const side = shown[1] === wanted.state ? 1 : shown[0] === wanted.state ? 0 : null;
    if (side === null) return;
    const nodes = wanted.ids.map((id) => stage.picture.node[side][id] ?? -1).filter((u) => u >= 0);
    if (nodes.length < wanted.ids.length) return;
    this.wanted = null;
    void stage.reveal([...new Set(nodes)], false);
  }
}

function textsOf([before, after]: Pair): Wish[] {
  return [
    ["text", before],
    ["text", after],
  ];
}

function same(a: Pair, b: Pair): boolean {
  return a[0] === b[0] && a[1] === b[1];
}
