/** A trace step by step: the passes at the left, the graph in the middle, a node's history under it, steps and text beneath. */
import { Stage } from "../render/stage.ts";
import { bindCompare } from "./bind_compare.ts";
import { checkButton, failed } from "./checks.ts";
import { CodeTab } from "./code_tab.ts";
import { Compare } from "./compare.ts";
import { button, h, replace, setText } from "./dom.ts";
import { follow } from "./follow.ts";
import { Inspector } from "./inspector.ts";
import { numbers, watch, write, type Model } from "./model.ts";
import { PairModel } from "./pair_model.ts";
import { panel } from "./panel.ts";
import { probe } from "./probe.ts";
import { Ribbon } from "./ribbon.ts";
import { Shell } from "./shell.ts";
import { fromSides } from "./sides.ts";
import { StepList, time } from "./step_list.ts";
import { Steps } from "./steps.ts";
import { BusyStrip, ErrorStrip } from "./strip.ts";
import { type Listing, type Place, type State, type StepState } from "./messages.ts";
import { Tabs } from "./tabs.ts";
import { TextDiff } from "./text_diff.ts";
import { key, TraceStore, type Pair, type Wish } from "./trace_store.ts";

export function stepper(model: Model, el: HTMLElement): () => void {
  const view = new Stepper(model, el);
  return () => view.dispose();
}

class Stepper {
  private readonly shell: Shell;
  private readonly stage: Stage;
  private readonly compare: Compare;
  private readonly pair: PairModel;
  private readonly store: TraceStore;
  private readonly list: StepList;
  private readonly steps: Steps;
  private readonly ribbon = new Ribbon();
  private readonly text: TextDiff;
  private readonly code = new CodeTab();
  private readonly tabs: Tabs;
  private readonly busy: BusyStrip;
  private readonly errors = new ErrorStrip();
  private readonly title = h("span", { class: "wb-title" });
  private readonly about = h("span", { class: "wb-dim wb-cut" });
  private readonly pins = h("div", { class: "wb-group wb-pins" });
  private readonly check: HTMLButtonElement;
  private readonly ends: (() => void)[];
  /** The states of the stage's picture, and those that it is to have in a moment. */
  private drawn: Pair = [-1, -1];
  private target: Pair = [-1, -1];
  private shownAs = "";
  /** What is to be shown, as `shownAs` says it. */
  private asked = "";
  private later = 0;
  /** Nodes to select when the picture that is being arranged is on the screen. */
  private wanted: { state: number; ids: number[] } | null = null;
  private problem: { title: string; text: string } | null = null;

  constructor(private readonly model: Model, el: HTMLElement) {
    this.shell = new Shell(el, "stepper");
    this.stage = new Stage(this.shell.ruler);
    probe(this.shell.root, this.stage);
    this.compare = new Compare(this.shell, this.stage);
    this.pair = new PairModel(model);
    this.store = new TraceStore(model);
    this.list = new StepList(this.store);
    // A step is in the page already, so a hand on the slider need not rest.
    this.steps = new Steps((index) => this.go(this.fromSlider(index)), 0);
    this.text = new TextDiff(this.stage);
    this.busy = new BusyStrip((message) => model.send(message));
    const saved = model.get("saved") === true;
    this.check = checkButton((message) => model.send(message));
    this.check.hidden = true;
    this.tabs = new Tabs([
      { name: "text", title: "Text", element: this.text.element },
      { name: "code", title: "Code", element: this.code.element },
    ], -1);
    this.layout(saved);
    this.listen();
    this.ends = [
      // before bindCompare hears of it and makes the picture
      watch(this.pair, ["seq"], () => { this.drawn = this.target; }),
      watch(model, ["step", "pinned", "shows", "listing", "hide_unchanged", "checks"], () => this.show()),
      watch(model, ["status"], () => this.strips()),
      watch(model, ["height"], () => this.height()),
      bindCompare(this.pair, this.compare, this.shell, (message) => this.fail("The graph can't be drawn", message)),
    ];
    this.height();
    this.show();
    this.strips();
  }

  private layout(saved: boolean): void {
    const { shell, compare } = this;
    shell.root.classList.toggle("wb-saved-page", saved);
    const header = h("header", { class: "wb-header" }, this.title, this.about, h("span", { class: "wb-space" }), this.pins, saved ? null : this.check);
    const left = panel("Passes", "left", this.list.element, shell, () => shell.root.clientWidth < 640);
    const right = panel("Inspector", "right", new Inspector(this.stage).element, shell, () => shell.root.clientWidth < 1300);
    this.main.append(left, h("div", { class: "wb-centre" }, compare.bar, this.errors.element, compare.element, this.ribbon.element, this.busy.element), right);
    shell.root.append(header, this.main, this.steps.element, this.tabs.element, shell.status);
  }

  private readonly main = h("div", { class: "wb-main" });

  private listen(): void {
    const { stage, store, list, model } = this;
    store.onnews = (lost) => {
      if (lost !== "") this.fail("A part of the trace can't be had", lost);
      // What is waited for is drawn at once; what else comes changes numbers in the list, and they may come together.
      if (this.shownAs !== this.asked) this.show();
      else this.later ||= window.setTimeout(() => { this.later = 0; this.show(); }, 100);
      // between two pictures the stage's is still the one before
      if (key(this.drawn) !== key(this.target)) return;
      this.showText();
      this.history();
    };
    list.onstep = (step) => this.go(step);
    list.onpin = (step) => this.pin(step);
    list.onhide = (hide) => write(model, "hide_unchanged", hide);
    this.tabs.onpick = () => this.showText();
    this.ribbon.onpick = (place) => this.visit(place);
    this.compare.onkey = (event) => this.key(event.key);
    stage.events.on("select", () => this.history());
    stage.events.on("scene", () => {
      this.selectWanted();
      this.showText();
      this.history();
    });
    this.shell.root.addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLInputElement && event.target.type !== "range" && event.target.type !== "checkbox";
      if (typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.key(event.key)) event.preventDefault();
    });
  }

  private key(name: string): boolean {
    if (name === "d") this.tabs.toggle("text");
    else if (name === "j") this.go(this.list.next(this.step, 1));
    else if (name === "k") this.go(this.list.next(this.step, -1));
    else return false;
    return true;
  }

  // ---- what is chosen --------------------------------------------------------------------------------------------

  private get listing(): Listing {
    return this.model.get("listing") ?? {};
  }

  private get passes(): StepState[] {
    return this.listing.steps ?? [];
  }

  private get step(): number {
    return Number(this.model.get("step") ?? -1);
  }

  private get pinned(): number[] {
    return numbers(this.model.get("pinned"));
  }

  private get comparing(): boolean {
    return this.model.get("shows") === "pinned" && this.pinned.length === 2;
  }

  private after(step: number): number {
    return this.passes[step]?.after ?? 0;
  }

  /** The states to be shown. */
  private get states(): Pair {
    if (this.comparing) return [this.after(this.pinned[0]), this.after(this.pinned[1])];
    const step = this.passes[this.step];
    return step ? [step.before, step.after] : [0, this.after(this.passes.length - 1)];
  }

  private go(step: number): void {
    this.wanted = null;
    if (this.model.get("shows") !== "step") this.model.set("shows", "step");
    this.model.set("step", step);
    this.model.save_changes();
    this.show();
  }

  private pin(step: number): void {
    const pinned = this.pinned;
    const next = pinned.includes(step) ? pinned.filter((other) => other !== step) : [...pinned.slice(-1), step];
    write(this.model, "pinned", next);
    write(this.model, "shows", next.length === 2 ? "pinned" : "step");
    this.show();
  }

  /** The slider has a place for each pass that the list shows. */
  private fromSlider(index: number): number {
    return index < 0 ? -1 : this.onSlider()[index] ?? -1;
  }

  private onSlider(): number[] {
    const visible = this.list.visible();
    return visible.includes(this.step) || this.step < 0 ? visible : [...visible, this.step].sort((a, b) => a - b);
  }

  // ---- what is shown ---------------------------------------------------------------------------------------------

  private height(): void {
    this.main.style.height = `${Math.max(320, Number(this.model.get("height")) || 640)}px`;
  }

  private show(): void {
    const { passes, step, states } = this;
    const checks = this.model.get("checks") ?? {};
    this.list.show({ steps: passes, step: this.comparing ? -2 : step, pinned: this.pinned, hide: this.model.get("hide_unchanged") !== false, checks });
    const on = this.onSlider();
    this.steps.show({ passes: on.map((i) => ({ ...passes[i], enabled: true, locked: false, reason: "", doc: "", status: failed(checks[i]) ? "wrong" : passes[i].status })), step: on.indexOf(step) } satisfies State);
    this.head();
    this.draw(states);
    this.prefetch(states);
  }

  private head(): void {
    const { listing, passes, pinned } = this;
    setText(this.title, listing.title ?? "");
    const changed = passes.filter((pass) => pass.status === "changed").length;
    const seconds = passes.filter((pass) => pass.depth === 0).reduce((sum, pass) => sum + pass.seconds, 0);
    const dialect = listing.dialect ? listing.dialect[0].toUpperCase() + listing.dialect.slice(1) : "";
    setText(this.about, [dialect, `opt level ${listing.opt_level ?? "?"}`, `${passes.length} passes, ${changed} changed something`, time(seconds)].filter(Boolean).join(" · "));
    this.check.hidden = listing.checkable !== true;
    const name = (at: number) => (at < 0 ? "start" : passes[at]?.name ?? "");
    replace(this.pins, pinned.map((at, k) => button(h("span", {}, h("span", { class: "wb-pin-letter" }, "AB"[k]), ` ${name(at)}`), `Unpin the state after ${name(at)}`, () => this.pin(at), { "data-testid": `pinned-${k}` })),
      pinned.length === 2 ? button("A ↔ B", "Compare the two pinned states", () => { write(this.model, "shows", this.comparing ? "step" : "pinned"); this.show(); }, { class: "wb-segment wb-single", "aria-pressed": String(this.comparing), "data-testid": "compare-pins" })
        : pinned.length === 1 ? h("span", { class: "wb-dim" }, "pin another one to compare") : null);
    setText(this.code.code, this.typed());
  }

  /** What was clicked, as it can be typed. */
  private typed(): string {
    const { step, pinned, passes } = this;
    const lines = ["stepper = wb.PassStepper(t)"];
    if (this.comparing) lines.push(`stepper.compare(${pinned[0]}, ${pinned[1]})`, `wb.diff(${pinned.map((at) => (at < 0 ? "t.start.graph" : `t.steps[${at}].after`)).join(", ")})`);
    else if (step < 0) lines.push("stepper.step = -1", "t.diff");
    else lines.push(`stepper.step = ${step}`, `t.steps[${step}].diff    # ${passes[step]?.name ?? ""}`, `t.steps[${step}].text_after`);
    const alone = this.listing.code ? ["", "# The same passes with TVM alone:", this.listing.code] : [];
    return [...lines, ...alone].join("\n");
  }

  /** Draws the states if they are here; what is on the screen stays until they are. */
  private draw(states: Pair): void {
    const [before, after] = states.map((state) => this.store.graph(state));
    const diff = this.store.diff(states);
    const now = `${key(states)} ${this.comparing} ${this.step}`;
    this.asked = now;
    if (!before || !after || !diff) {
      if (now !== this.shownAs) this.shell.say("Reading the graphs of this step …");
      return;
    }
    this.facts(states);
    if (now === this.shownAs) return;
    this.shownAs = now;
    this.shell.say("");
    const titles = this.titles();
    if (key(this.target) === key(states)) this.compare.setTitles(titles);
    else {
      this.target = states;
      this.text.say("…");
      this.pair.put({ before, after, diff, titles });
    }
    const step = this.comparing ? undefined : this.passes[this.step];
    this.problem = step?.error ? { title: `${step.name} failed; the graph is the last good one`, text: step.detail || step.error } : null;
    this.strips();
  }

  private titles(): [string, string] {
    const name = (at: number) => (at < 0 ? "the start" : `after ${this.passes[at]?.name ?? ""}`);
    if (this.comparing) return [`A: ${name(this.pinned[0])}`, `B: ${name(this.pinned[1])}`];
    return this.step < 0 ? ["the start", "after all passes"] : [`before ${this.passes[this.step]?.name ?? ""}`, `after ${this.passes[this.step]?.name ?? ""}`];
  }

  private facts(states: Pair): void {
    states.forEach((state, i) => {
      const facts = this.store.facts.get(state);
      if (!facts) return;
      const side = i === 0 ? "before" : "after";
      replace(this.compare.facts[i], h("span", { class: "wb-kernels", "data-testid": `kernels-${side}` }, facts.kernels), h("span", {}, facts.kernels === 1 ? " kernel" : " kernels"),
        h("span", { class: "wb-dim", "data-testid": `sizes-${side}` }, ` · ${facts.ops.toLocaleString("en")} ops · ${facts.nodes.toLocaleString("en")} nodes`));
    });
  }

  private prefetch(states: Pair): void {
    const pairs = this.passes.map((pass): Pair => [pass.before, pass.after]);
    const count = Math.max(0, ...pairs.flat()) + 1;
    const chain = Array.from({ length: count - 1 }, (_, n): Pair => [n, n + 1]).filter((pair) => pairs.some((other) => key(other) === key(pair)));
    this.store.forget(states);
    this.store.want(TraceStore.around(states, [...new Map([...chain, ...pairs, [0, this.after(pairs.length - 1)] as Pair].map((pair) => [key(pair), pair])).values()], count), 3);
  }

  private strips(): void {
    const status = this.model.get("status") ?? {};
    this.busy.show(status.busy);
    const check = this.comparing ? undefined : (this.model.get("checks") ?? {})[this.step];
    const wrong = failed(check) ? { title: `${this.passes[this.step]?.name ?? ""} changed the answer`, text: check!.text } : null;
    this.errors.show(this.problem ?? wrong ?? status.error);
  }

  private fail(title: string, text: string): void {
    this.problem = { title, text };
    this.strips();
  }

  // ---- text ------------------------------------------------------------------------------------------------------

  private showText(): void {
    if (this.tabs.current !== "text") return;
    const [before, after] = this.drawn;
    if (before < 0) return;
    const texts = [this.store.texts.get(before), this.store.texts.get(after)];
    if (texts[0] && texts[1]) {
      this.text.show(texts[0], texts[1], this.stage.picture);
      // the next step's
      const next = ([1, -1] as const).map((way) => this.passes[this.list.next(this.step, way)]).filter(Boolean);
      this.store.want(next.flatMap((step): Wish[] => [["text", step.before], ["text", step.after]]));
    } else this.store.want([["text", before], ["text", after]], 2);
  }

  // ---- history of a node -----------------------------------------------------------------------------------------

  private history(): void {
    const { picture, selection } = this.stage;
    if (selection.length !== 1) return this.ribbon.hide();
    const side = picture.id[1][selection[0]] >= 0 ? 1 : 0;
    const [state, node] = [this.drawn[side], picture.id[side][selection[0]]];
    if (state === undefined || state < 0 || node === undefined || node < 0) return this.ribbon.hide();
    const known = this.store.lineages.get(key([state, node]));
    if (known) return this.ribbon.show(known, this.passes, this.drawn);
    const count = Math.max(0, ...this.passes.flatMap((pass) => [pass.before, pass.after])) + 1;
    if (this.store.saved) this.ribbon.show(follow(this.store, this.passes, state, node, count), this.passes, this.drawn);
    else this.store.want([["lineage", state, node]], 1);
  }

  /** Goes to the pass that made a state, with the node selected in it. */
  private visit(place: Place): void {
    // The start is the first pass's input.
    this.go(place.step >= 0 ? place.step : Math.max(0, this.passes.findIndex((pass) => pass.before === place.state && pass.after !== place.state)));
    this.wanted = { state: place.state, ids: place.ids };
    if (key(this.drawn) === key(this.target)) this.selectWanted();
  }

  private selectWanted(): void {
    const { wanted, drawn, stage } = this;
    if (!wanted) return this.selectChosen();
    const side = drawn[1] === wanted.state ? 1 : drawn[0] === wanted.state ? 0 : -1;
    if (side < 0) return;
    const nodes = wanted.ids.map((id) => stage.picture.node[side as 0 | 1][id] ?? -1).filter((u) => u >= 0);
    if (nodes.length < wanted.ids.length) return;
    this.wanted = null;
    void stage.reveal([...new Set(nodes)], false);
  }

  /** What Python selected together with a step is selected when the step's picture is there. */
  private selectChosen(): void {
    if (this.stage.selection.length > 0) return;
    const nodes = fromSides(this.stage.picture, this.model.get("selection"));
    if (nodes.length > 0) this.stage.select(nodes);
  }

  dispose(): void {
    clearTimeout(this.later);
    for (const end of this.ends) end();
    this.store.dispose();
    this.text.dispose();
    this.busy.dispose();
    this.compare.dispose();
    this.stage.dispose();
    this.shell.dispose();
  }
}
