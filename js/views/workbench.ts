/** The whole workbench: passes at the left, the graph in the middle, the inspector at the right, steps and tabs beneath. */
import { Stage } from "../render/stage.ts";
import { bindCompare } from "./bind_compare.ts";
import { bindText } from "./bind_text.ts";
import { Blocks } from "./blocks.ts";
import { failed, type Checks } from "./checks.ts";
import { CodeTab } from "./code_tab.ts";
import { Compare } from "./compare.ts";
import { h, replace } from "./dom.ts";
import { ExploreTab } from "./explore_tab.ts";
import { Header } from "./header.ts";
import { Inspector } from "./inspector.ts";
import { MeasureTab } from "./measure_tab.ts";
import { watch, type Model } from "./model.ts";
import { panel } from "./panel.ts";
import { PassList } from "./pass_list.ts";
import { probe } from "./probe.ts";
import { RealBuild } from "./real_build.ts";
import { Shell } from "./shell.ts";
import { type State, type ToPython } from "./messages.ts";
import { Steps } from "./steps.ts";
import { BusyStrip, ErrorStrip } from "./strip.ts";
import { Tabs } from "./tabs.ts";
import { TextDiff } from "./text_diff.ts";

export function workbench(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "workbench");
  const stage = new Stage(shell.ruler);
  probe(shell.root, stage);
  const send = (message: ToPython) => model.send(message);
  const compare = new Compare(shell, stage);
  const header = new Header(send);
  const passes = new PassList(send);
  const steps = new Steps((index) => send({ type: "step", index }));
  const measure = new MeasureTab(send);
  const explore = new ExploreTab(send);
  const code = new CodeTab();
  const text = new TextDiff(stage);
  const busy = new BusyStrip(send);
  const errors = new ErrorStrip();
  const inspector = new Inspector(stage);
  // A saved page has no kernel to run passes: what would ask it can't be pressed.
  const saved = model.get("saved") === true;
  const build = new RealBuild(send, saved);
  shell.root.classList.toggle("wb-saved-page", saved);
  header.notes.hidden = !saved;
  const asking = (element: HTMLElement) => (saved ? h("fieldset", { class: "wb-saved", disabled: true, title: "Saved: passes and times as they stood" }, element) : element);
  const left = panel("Passes", "left", asking(passes.element), shell, () => shell.root.clientWidth < 640);
  const right = panel("Inspector", "right", inspector.element, shell, () => shell.root.clientWidth < 1300);
  const plots = new Blocks(measure.plots, stage, send);
  const told = (["kernels", "waterfall", "ablation"] as const).map((name) => ({ name, title: name[0].toUpperCase() + name.slice(1), element: h("div", { class: "wb-told" }) }));
  const panels = told.map(({ name, element }) => ({ trait: `${name}_tab` as const, blocks: new Blocks(element, stage, send) }));
  const tabs = new Tabs([
    { name: "measure", title: "Measure", element: measure.element },
    ...told,
    { name: "explore", title: "Explore", element: asking(explore.element) },
    { name: "text", title: "Text", element: text.element },
    { name: "code", title: "Code", element: code.element },
  ]);
  const main = h("div", { class: "wb-main" }, left, h("div", { class: "wb-centre" }, compare.bar, errors.element, build.list, compare.element, busy.element), right);
  shell.root.append(asking(header.element), header.form, header.notes, main, asking(steps.element), tabs.element, shell.status);

  compare.onkey = (event) => {
    if (event.key === "u") send({ type: "undo" });
    else if (event.key === "U") send({ type: "redo" });
    else if (event.key === "d") tabs.toggle("text");
    else return false;
    return true;
  };
  const height = () => { main.style.height = `${Math.max(320, Number(model.get("height")) || 560)}px`; };
  const show = () => {
    const state = model.get("state") ?? {};
    const checks = model.get("checks") ?? {};
    header.show(state);
    passes.show(state, checks);
    steps.show({ ...state, passes: state.passes?.map((pass, i) => (failed(checks[i]) ? { ...pass, status: "wrong" } : pass)) });
    explore.show(state, model.get("exploration") ?? {});
    measure.show(state);
    code.show(state);
    busy.show(state.busy);
    errors.show(state.error ?? wrong(state, checks) ?? unbuilt(state));
    build.show(state);
    facts(compare, state, build);
  };
  const tell = () => {
    plots.show(model.get("plots"));
    for (const { trait, blocks } of panels) blocks.show(model.get(trait));
  };
  const catalog = () => passes.setCatalog(model.get("catalog") ?? {});
  catalog();
  height();
  show();
  tell();
  const ends = [
    watch(model, ["state", "checks", "exploration"], show),
    watch(model, ["catalog"], catalog),
    watch(model, ["plots", ...panels.map(({ trait }) => trait)], tell),
    watch(model, ["height"], height),
    bindText(model, stage, tabs, text),
    bindCompare(model, compare, shell, (message) => errors.show({ title: "The graph can't be drawn", text: message })),
  ];
  const texted = tabs.onpick;
  tabs.onpick = (name) => {
    texted(name);
    // what a tab shows is made when somebody looks
    send({ type: "tab", name });
  };
  return () => {
    for (const end of ends) end();
    busy.dispose();
    text.dispose();
    compare.dispose();
    stage.dispose();
    shell.dispose();
  };
}

/** The step that is shown, or the first one where it is the whole pipeline, that changed the answer. */
function wrong(state: State, checks: Checks): State["error"] {
  const at = (state.step ?? -1) >= 0 ? state.step! : Object.keys(checks).map(Number).sort((a, b) => a - b).find((i) => failed(checks[i])) ?? -1;
  return failed(checks[at]) ? { title: `${state.passes?.[at]?.name ?? ""} changed the answer`, text: checks[at].text } : null;
}

/** The present configuration's row, where it failed. */
function unbuilt(state: State): State["error"] {
  const row = state.rows?.find((each) => each.current && each.said && each.status !== "not measured" && each.status !== "cancelled");
  return row ? { title: `${row.config ?? ""}: ${row.status}`, text: row.message ?? "" } : null;
}

/** The number by the graph: kernels, large, since that is what one watches; the build's where it differs; nodes, small. */
function facts(compare: Compare, state: State, build: RealBuild): void {
  const counts = state.counts ?? {};
  const failed = state.rows?.find((each) => each.current)?.said ?? "";
  (["before", "after"] as const).forEach((side, i) => {
    const kernels = counts[`${side}_kernels`];
    const nodes = counts[`${side}_nodes`];
    const key = JSON.stringify([kernels, nodes, failed]);
    // What stays is left alone: a click that began on the button ends on it.
    if (compare.facts[i].dataset.shown === key) return;
    compare.facts[i].dataset.shown = key;
    const known = typeof kernels === "number";
    replace(compare.facts[i],
      h("span", { class: "wb-kernels", "data-testid": `kernels-${side}` }, known ? kernels : "–"),
      h("span", {}, kernels === 1 ? " kernel" : " kernels"),
      side === "after" ? [failed && h("span", { class: "wb-mark-removed wb-strong", "data-testid": "row-status", title: failed }, ` ! ${failed.split(":", 1)[0]}`), " ", build.element] : null,
      typeof nodes === "number" ? h("span", { class: "wb-dim" }, ` · ${nodes.toLocaleString("en")} nodes`) : null);
  });
}
