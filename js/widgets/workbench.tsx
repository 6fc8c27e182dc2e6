/** The whole workbench: passes at the left, the graph in the middle, the inspector at the right, steps and tabs beneath. */
import { type ComponentChildren } from "preact";
import { Blocks, CodeBlock } from "../components/blocks.tsx";
import { Asking } from "../components/button.tsx";
import { type Reveal } from "../components/linked.tsx";
import { Main, Panel } from "../components/panel.tsx";
import { open } from "../components/shell.tsx";
import { BusyStrip, drawingFailure, ErrorStrip } from "../components/strips.tsx";
import { Tabs } from "../components/tabs.tsx";
import { type Failure, type State, type ToPython } from "../model/messages.ts";
import { type Model, type Send } from "../model/model.ts";
import { type Checks, failed } from "../model/trace_choice.ts";
import { type Traits } from "../model/traits.ts";
import { MemoryBoard } from "../pane/memory_pane.ts";
import { bindBoard } from "../panels/bind_board.ts";
import { Compare, CompareBar, ComparePanes } from "../panels/compare.tsx";
import { Header } from "../panels/header.tsx";
import { Inspector } from "../panels/inspector.tsx";
import { Memory } from "../panels/memory.tsx";
import { EDIT_KEYS, historyKeys, PassList } from "../panels/pass_list.tsx";
import { PrintedText } from "../panels/printed_text.tsx";
import { BuildReasons, StateFacts } from "../panels/side_facts.tsx";
import { type SliderStep, StepSlider } from "../panels/step_slider.tsx";

const HEIGHT = 560;
const MEMORY_HEIGHT = 340;
/** Python runs the passes of each step that is asked for: a drag asks for the last one. */
const REST_MS = 90;
/** The tabs whose blocks come from Python, with their traits. */
const PANELS = [
  ["measure", "Measure", "measure_tab"],
  ["kernels", "Kernels", "kernels_tab"],
  ["memory", "Memory", "memory_tab"],
  ["waterfall", "Waterfall", "waterfall_tab"],
  ["ablation", "Ablation", "ablation_tab"],
  ["explore", "Explore", "explore_tab"],
] as const;

export function workbench(model: Model, el: HTMLElement): () => void {
  const { shell, traits, saved } = open(model, el, "workbench");
  const compare = new Compare(shell);
  const { stage } = compare;
  const { undrawn, failed: problem } = drawingFailure();
  const send = (message: ToPython) => model.send(message);
  const board = new MemoryBoard(traits, "memory_viewport");
  const tab = traits.get("tab");
  const reveal = (nodes: number[]) => void stage.reveal(nodes);
  // Python makes the content of a tab when it is open.
  const pick = (name: string) => traits.set("tab", name);
  compare.keys = [
    ...(saved ? [] : historyKeys(send)),
    { does: "the text, before and after", act: { d: () => pick(tab.value === "text" ? "" : "text") } },
  ];
  if (!saved) compare.listed = EDIT_KEYS;
  const Page = () => {
    const state = traits.get("state").value ?? {};
    const checks = traits.get("checks").value ?? {};
    const width = shell.width.value;
    const blocks = { traits, send: saved ? undefined : send, reveal };
    const beside: Record<string, ComponentChildren> = {
      measure: <PanelBlocks class="wb-plots" trait="plots" {...blocks} />,
      memory: board.shows.value && <Memory height={MEMORY_HEIGHT} {...{ board, shell, send }} />,
    };
    const panels = PANELS.map(([name, title, trait]) => ({
      name,
      title,
      content: (
        <div class={`wb-tab-${name}`}>
          <PanelBlocks class="wb-listed" trait={trait} {...blocks} />
          {beside[name]}
        </div>
      ),
    }));
    const printed = {
      ...{ model: traits.model, stage, open: tab.value === "text" },
      seq: traits.get("seq").value ?? 0,
      saved: saved ? (traits.get("texts").value ?? []) : undefined,
    };
    const tabs = [
      ...panels,
      { name: "text", title: "Text", content: <PrintedText {...printed} /> },
      { name: "code", title: "Code", content: <Code state={state} /> },
    ];
    return (
      <>
        <Header state={state} form={traits.get("preset_form").value ?? []} saved={saved} send={send} />
        <Main height={Math.max(320, traits.get("height").value ?? HEIGHT)}>
          <Panel name="Passes" side="left" startsOpen={width >= 640}>
            <Asking saved={saved}>
              <PassList state={state} catalog={traits.get("catalog").value ?? {}} checks={checks} send={send} />
            </Asking>
          </Panel>
          <div class="wb-centre">
            <CompareBar compare={compare} />
            <ErrorStrip error={undrawn.value ?? state.error ?? wrong(state, checks) ?? unbuilt(state)} />
            <BuildReasons state={state} />
            <ComparePanes
              compare={compare}
              facts={(side) => <StateFacts {...{ state, side, send: saved ? undefined : send }} />}
            />
          </div>
          <Panel name="Inspector" side="right" startsOpen={width >= 1300}>
            <Inspector stage={stage} />
          </Panel>
        </Main>
        <Asking saved={saved}>
          <StepSlider
            steps={sliderSteps(state, checks)}
            step={state.step ?? -1}
            onStep={(index) => send({ type: "step", index })}
            rest={REST_MS}
            hidden={state.mode === "context" && !state.passes?.length}
          />
        </Asking>
        <Tabs tabs={tabs} open={tab.value ?? ""} onPick={pick} name="workbench">
          <BusyStrip busy={state.busy} send={send} />
        </Tabs>
      </>
    );
  };
  shell.render(<Page />);
  shell.root.append(shell.status);
  shell.atEnd(bindBoard(model, compare, problem));
  return () => shell.dispose();
}

interface PanelBlocksProps {
  traits: Traits;
  trait: "plots" | (typeof PANELS)[number][2];
  class: string;
  send: Send | undefined;
  reveal: Reveal;
}

/** Blocks that Python makes. They are drawn again only when they change: a plot is long. */
function PanelBlocks({ traits, trait, ...props }: PanelBlocksProps) {
  return <Blocks blocks={traits.get(trait).value} {...props} />;
}

/** The Python that does with TVM alone what was clicked here. */
function Code({ state: { code, pipeline_text: pipeline } }: { state: State }) {
  return (
    <div class="wb-code-tab">
      <div class="wb-cut" title={pipeline}>
        <code>{pipeline}</code>
      </div>
      <CodeBlock block={{ t: "code", name: "code", text: code || "Nothing to show yet." }} />
    </div>
  );
}

/** The passes of the slider: off, or marked as wrong where they changed the outputs. */
function sliderSteps({ passes = [] }: State, checks: Checks): SliderStep[] {
  return passes.map(({ name, enabled, status = "same", seconds }, i) => ({
    ...{ name, seconds },
    status: failed(checks[i]) ? "wrong" : enabled ? status : "off",
  }));
}

/** The step that is shown, or for the whole pipeline the first one, that changed the outputs. */
function wrong({ passes, step = -1 }: State, checks: Checks): Failure | null {
  const places = Object.keys(checks).map(Number);
  const at = step >= 0 ? step : Math.min(...places.filter((place) => failed(checks[place])));
  const check = checks[at];
  return check && failed(check)
    ? { title: `${passes?.[at]?.name ?? ""} changed the outputs`, text: check.text, at: 0 }
    : null;
}

/** The present configuration's row, if it failed. */
function unbuilt({ failed_row: row }: State): Failure | null {
  return row ? { title: `${row.config}: ${row.status}`, text: row.message, at: 0 } : null;
}
