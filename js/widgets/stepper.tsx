/** A trace step by step: the passes at the left, the graph in the middle, a node's history under it, steps and text beneath. */
import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { CodeBlock } from "../components/blocks.tsx";
import { Button } from "../components/button.tsx";
import { Main, Panel } from "../components/panel.tsx";
import { open, type Shell } from "../components/shell.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { BusyStrip, drawingFailure, ErrorStrip, Trouble } from "../components/strips.tsx";
import { Tabs } from "../components/tabs.tsx";
import { type Failure } from "../model/messages.ts";
import { type Model, type Send } from "../model/model.ts";
import { failed, TraceChoice } from "../model/trace_choice.ts";
import { TraceStore } from "../model/trace_store.ts";
import { type Traits } from "../model/traits.ts";
import { TraceScreen } from "../pane/trace_screen.ts";
import { bindBoard } from "../panels/bind_board.ts";
import { Compare, CompareBar, ComparePanes } from "../panels/compare.tsx";
import { Inspector } from "../panels/inspector.tsx";
import { CheckButton } from "../panels/pass_words.tsx";
import { Ribbon } from "../panels/ribbon.tsx";
import { SideFacts } from "../panels/side_facts.tsx";
import { ROW_KEYS, StepList } from "../panels/step_list.tsx";
import { StepSlider } from "../panels/step_slider.tsx";
import { TextDiff } from "../panels/text_diff.tsx";
import { type Stage } from "../render/stage.ts";
import { counted, formatTime } from "../text/counted.ts";
import { Tree } from "./schedule.tsx";

export function stepper(model: Model, el: HTMLElement): () => void {
  const { shell, traits, send } = open(model, el, "stepper");
  const compare = new Compare(shell);
  const { stage } = compare;
  const { undrawn, failed: problem } = drawingFailure();
  const store = new TraceStore(model);
  const choice = new TraceChoice(traits);
  const screen = new TraceScreen(model, stage, choice, store);
  const tab = signal("");
  const walk = (direction: 1 | -1) => choice.go(choice.next(choice.step.value, direction));
  compare.keys = [
    { does: "next, previous step", act: { j: () => walk(1), k: () => walk(-1) } },
    {
      does: "the text, before and after",
      act: {
        d: () => {
          tab.value = tab.value === "text" ? "" : "text";
        },
      },
    },
  ];
  compare.listed = ROW_KEYS;
  screen.start((pair) => bindBoard(pair, compare, problem, () => screen.waiting.peek()));
  const end = effect(() => shell.say(screen.waiting.value ? "Reading the graphs of this step …" : "", "states"));
  const parts = { shell, stage, traits, store, choice, screen, compare, undrawn, tab, send };
  shell.render(<Stepper {...parts} />);
  shell.root.append(shell.status);
  return () => {
    end();
    screen.dispose();
    store.dispose();
    shell.dispose();
  };
}

type Parts = Parameters<typeof Stepper>[0];

function Stepper(parts: {
  shell: Shell;
  stage: Stage;
  traits: Traits;
  store: TraceStore;
  choice: TraceChoice;
  screen: TraceScreen;
  compare: Compare;
  undrawn: { value: Failure | null };
  tab: { value: string };
  send: Send | undefined;
}) {
  const { shell, traits, store, choice, screen, compare, tab, send } = parts;
  const height = Math.max(320, traits.get("height").value ?? 640);
  const status = traits.get("status").value ?? {};
  const { width } = shell;
  return (
    <>
      <Header choice={choice} send={send} />
      <Main height={height}>
        <Panel name="Passes" side="left" startsOpen={width.value >= 640}>
          <StepList choice={choice} numbers={store} />
        </Panel>
        <div class="wb-centre">
          <CompareBar compare={compare} />
          <Problems {...parts} />
          <ComparePanes compare={compare} facts={(side) => <StateSizes {...parts} side={side} />} />
          <Ribbon
            places={screen.history.value ?? []}
            steps={choice.steps}
            shown={screen.shown.value}
            onPick={(place) => screen.visit(place)}
          />
        </div>
        <Panel name="Inspector" side="right" startsOpen={width.value >= 1300}>
          <Inspector stage={parts.stage} />
        </Panel>
      </Main>
      <Slider choice={choice} />
      <Tabs
        open={tab.value}
        onPick={(name) => {
          tab.value = name;
        }}
        tabs={[
          { name: "text", title: "Text", content: <Text {...parts} /> },
          { name: "code", title: "Code", content: <Code {...parts} /> },
        ]}
      >
        <BusyStrip busy={status.busy} send={send} />
      </Tabs>
    </>
  );
}

function Header({ choice, send }: { choice: TraceChoice; send: Send | undefined }) {
  const { title = "", dialect = "", opt_level, checkable } = choice.listing.value;
  const { steps } = choice;
  const changed = steps.filter((pass) => pass.status === "changed").length;
  const seconds = steps.filter((pass) => pass.depth === 0).reduce((sum, pass) => sum + pass.seconds, 0);
  const about = [
    dialect.slice(0, 1).toUpperCase() + dialect.slice(1),
    `opt level ${opt_level ?? "?"}`,
    `${counted(steps.length, "pass")}, ${changed} changed something`,
    formatTime(seconds * 1e6),
  ];
  const words = about.filter(Boolean).join(" · ");
  return (
    <header class="wb-header">
      <span class="wb-title" title={title}>
        {title}
      </span>
      <span class="wb-dim wb-cut" title={words}>
        {words}
      </span>
      <span class="wb-space" />
      <Pins choice={choice} />
      {checkable && send && <CheckButton send={send} />}
    </header>
  );
}

/** The pinned steps A and B, and the switch that compares them. */
function Pins({ choice }: { choice: TraceChoice }) {
  const pinned = choice.pinned.value;
  const comparing = choice.comparing.value;
  return (
    <div class="wb-group wb-pins">
      {pinned.map((step, k) => (
        <Button
          key={step}
          label={`Unpin the state after ${choice.name(step)}`}
          testid={`pinned-${k}`}
          onClick={() => choice.pin(step)}
        >
          <span>
            <span class="wb-pin-letter">{"AB"[k]}</span> {choice.name(step)}
          </span>
        </Button>
      ))}
      {pinned.length === 2 && (
        <Button
          label="Compare the two pinned states"
          class="wb-segment wb-single"
          testid="compare-pins"
          aria-pressed={comparing}
          onClick={() => choice.compare(!comparing)}
        >
          A ↔ B
        </Button>
      )}
      {pinned.length === 1 && <span class="wb-dim">pin another one to compare</span>}
    </div>
  );
}

/** The failure that matters most: of the states on the screen, of the shown step, of what the kernel was asked. */
function Problems({ traits, choice, screen, undrawn }: Parts) {
  const lost = screen.lost.value;
  const step = choice.comparing.value ? undefined : choice.steps[choice.step.value];
  const check = step && choice.checks.value[choice.step.value];
  const failure = (title: string, text: string): Failure => ({ title, text, at: 0 });
  const ofStep = step?.error
    ? failure(`${step.name} failed; the graph is the last good one`, step.detail || step.error)
    : null;
  const ofCheck = failed(check) ? failure(`${step?.name ?? ""} changed the outputs`, check.text) : null;
  return (
    <>
      {lost && <Lost text={lost} retry={() => screen.retry()} />}
      <ErrorStrip error={undrawn.value ?? ofStep ?? ofCheck ?? traits.get("status").value?.error} />
    </>
  );
}

function Lost({ text, retry }: { text: string; retry: () => void }) {
  return (
    <div class="wb-error" role="alert" data-testid="lost">
      <Trouble title="Couldn't load part of the trace" text={text}>
        <Button label="Ask for it again" testid="retry" onClick={retry}>
          Try again
        </Button>
      </Trouble>
    </div>
  );
}

/** Beside each title: kernels and nodes of that state. */
function StateSizes({ store, screen, side }: Parts & { side: 0 | 1 }) {
  const facts = store.facts(screen.shown.value[side]).value;
  if (!facts) return null;
  const sizes = ` · ${facts.ops.toLocaleString("en")} ops · ${facts.nodes.toLocaleString("en")} nodes`;
  return <SideFacts side={side} kernels={facts.kernels} sizes={sizes} />;
}

function Slider({ choice }: { choice: TraceChoice }) {
  const places = choice.onSlider.value;
  const checks = choice.checks.value;
  const steps = places.flatMap((place) => {
    const pass = choice.steps[place];
    return pass ? [{ ...pass, status: failed(checks[place]) ? "wrong" : pass.status }] : [];
  });
  return (
    <StepSlider steps={steps} step={places.indexOf(choice.step.value)} onStep={(at) => choice.go(places[at] ?? -1)} />
  );
}

/** A closed tab keeps its texts and the place in them; it compares no others. */
function Text({ tab, screen, stage }: Parts) {
  const read = () => ({
    texts: screen.texts(),
    picture: stageSignals(stage).picture.value,
    words: screen.lostText() || "Loading the text …",
  });
  const last = useRef<ReturnType<typeof read> | null>(null);
  const open = tab.value === "text";
  const states = screen.shown.value;
  useEffect(() => {
    if (open && states) screen.retryTexts();
  }, [open, states, screen]);
  if (open) last.current = read();
  return last.current ? <LoopsAndText stage={stage} {...last.current} /> : null;
}

/** The loops are there if the program only calls PrimFuncs. */
export function LoopsAndText(props: Parameters<typeof TextDiff>[0]) {
  const [before, after] = props.texts ?? [];
  return (
    <>
      {after?.loops?.length ? <Tree rows={after.loops} before={before?.loops ?? after.loops} /> : null}
      <TextDiff {...props} />
    </>
  );
}

/** The Python for what is on the screen. */
function Code({ choice, store }: Parts) {
  const steps = choice.comparing.value ? choice.pinned.value : [choice.step.value];
  const key = steps.join();
  useEffect(() => store.want([["code", ...steps]]), [key, store]);
  store.news.value;
  const text = store.code(steps) ?? (store.lost([["code", ...steps]]) || "Loading the code …");
  const { code } = choice.listing.value;
  return <CodeBlock block={{ t: "code", name: "code", text: [text, code].filter(Boolean).join("\n\n") }} />;
}
