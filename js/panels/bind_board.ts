/** The traits of a view of graphs (workbench/widgets/base.py) and its board: each follows the other. */
import { fromPython, initiallyCollapsed, toPython } from "../graph/collapse.ts";
import { fromSides, readPicture, toSides } from "../graph/picture.ts";
import { equal, listen, type Model, type Values, watch, write } from "../model/model.ts";
import { readOverlay } from "../render/overlay.ts";
import { Compare } from "./compare.tsx";
import { type GraphBoard } from "./graph_board.tsx";

/** A drag's every frame would be a message to the kernel; the last one is enough. */
const VIEWPORT_MS = 250;
/** A pointer crosses many nodes on its way to one. */
const HOVER_MS = 60;

/** Reads the model at once; returns what ends it. */
export function bindBoard(
  model: Model,
  board: GraphBoard,
  failed: (message: string | null) => void = (message) => board.shell.say(message ?? "", "graph"),
  /** Whether a chosen picture is on its way: Python's selection is of that one. */
  waits: () => boolean = () => false,
): () => void {
  const { stage, shell } = board;
  const compare = board instanceof Compare ? board : null;
  const is = (name: "show_constants" | "show_tuples" | "show_lowering" | "edges_by_dtype") => model.get(name) === true;
  const direction = () => (model.get("direction") === "right" ? "right" : "down");
  const opened = () => ({
    showConstants: is("show_constants"),
    showTuples: is("show_tuples"),
    showLowering: is("show_lowering"),
  });
  const options = () => {
    if (direction() !== stage.direction) stage.setDirection(direction());
    if (!equal({ ...stage.options, ...opened() }, stage.options)) void stage.setOptions(opened());
  };
  const edges = () => stage.setEdges(is("edges_by_dtype") ? "dtype" : "diff");
  const muted = () => stage.setMuted(model.get("muted") ?? []);
  const overlay = () => stage.setOverlay(readOverlay(model.get("overlay_state")));
  const titles = () => {
    if (compare) compare.titles.value = model.get("titles") ?? [];
  };
  const mode = () => compare?.setMode(model.get("mode") ?? "split", model.get("hops") ?? 1);

  // The values that this page has sent: one that comes back is not a wish of Python's, and by then a glide may have begun.
  const sent: Pick<Values, "collapsed" | "viewport" | "hovered" | "selection"> = {};
  const tell = <N extends keyof typeof sent>(name: N, value: (typeof sent)[N]) => {
    sent[name] = value;
    write(model, name, value);
  };
  const wish = <N extends keyof typeof sent>(name: N): (typeof sent)[N] => {
    const value = model.get(name);
    return equal(value, sent[name]) ? undefined : value;
  };
  let [opening, saving, hovering, selecting] = [0, 0, 0, 0];
  let taking = false;
  /** Of one graph, each one counts: Python may know better than the page what a node became. */
  const wishedSelection = () => (compare ? wish("selection") : model.get("selection"));
  const load = () => {
    const wanted = wishedSelection();
    taking = !compare || wanted !== undefined;
    failed(null);
    try {
      const [graph, before, after] = [model.get("graph") ?? {}, model.get("before") ?? {}, model.get("after") ?? {}];
      const pair = { before, after, diff: model.get("diff") ?? {}, show_lowering: is("show_lowering") };
      const picture = readPicture(compare ? pair : { graph });
      const first = stage.scene === null;
      const closed = wish("collapsed");
      void stage.setPicture(picture, (closed === undefined ? null : fromPython(picture, closed)) ?? undefined);
      taking = false;
      if (!compare && picture.nodeCount === 0) shell.say("No graph yet.", "graph");
      const chosen = fromSides(picture, wanted);
      if (!compare) choose(chosen);
      else if (chosen.length > 0 && first) stage.choose(chosen);
      else if (chosen.length > 0) stage.select(chosen);
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    }
    taking = false;
  };
  const choose = (nodes: number[]) => {
    if (!equal(nodes, stage.selection)) stage.choose(nodes);
  };
  const select = () => {
    const wanted = wishedSelection();
    if (wanted !== undefined && !waits()) choose(fromSides(stage.picture, wanted));
  };
  const collapsed = () => {
    // After a new picture of the same message, which has chosen its open groups by then: they are sent next.
    queueMicrotask(() => {
      if (opening !== 0) return;
      const raw = wish("collapsed");
      const { picture } = stage;
      if (raw === undefined || picture.groups.count === 0) return;
      void stage.setOptions({
        collapsed: fromPython(picture, raw) ?? initiallyCollapsed(picture, stage.options.showConstants),
      });
    });
  };
  const viewport = () => {
    const at = wish("viewport");
    if (at && "scale" in at && at.scale && at.scale > 0)
      stage.setCamera({ x: at.x ?? 0, y: at.y ?? 0, scale: at.scale });
    else if (at && Object.keys(at).length === 0) stage.home();
  };
  const hovered = () => {
    const node = wish("hovered");
    if (node === undefined) return;
    stage.hoverNode(typeof node === "number" ? node : (fromSides(stage.picture, node)[0] ?? -1));
  };
  if (compare)
    compare.onmode = (value, hops) => {
      write(model, "mode", value);
      write(model, "hops", hops);
    };

  const ends = [
    board.legend.bind(model),
    stage.events.on("select", ({ nodes }) => {
      // What the stage carried over gives way to Python's wish.
      if (!taking) tell("selection", compare ? toSides(stage.picture, nodes) : nodes);
    }),
    stage.events.on("collapsed", (set) => {
      const { picture } = stage;
      clearTimeout(opening);
      // The new picture first: it is asked for in this turn, and Python gets the groups while the worker arranges it.
      opening = window.setTimeout(() => {
        opening = 0;
        if (picture.groups.count > 0) tell("collapsed", toPython(picture, set));
      });
    }),
    stage.events.on("viewport", (camera) => {
      clearTimeout(saving);
      saving = window.setTimeout(() => tell("viewport", camera), VIEWPORT_MS);
    }),
    stage.events.on("hover", (node) => {
      clearTimeout(hovering);
      const value = stage.picture.compares ? toSides(stage.picture, node >= 0 ? [node] : []) : node;
      hovering = window.setTimeout(() => tell("hovered", value), HOVER_MS);
    }),
    stage.events.on("edges", (by) => write(model, "edges_by_dtype", by === "dtype")),
    stage.events.on("busy", (words) => shell.say(words ?? "", "layout")),
    watch(model, ["show_constants", "show_tuples", "show_lowering", "direction"], options),
    watch(model, ["edges_by_dtype"], edges),
    watch(model, ["muted"], muted),
    watch(model, ["collapsed"], collapsed),
    watch(model, ["viewport"], viewport),
    watch(model, ["hovered"], hovered),
    watch(model, compare ? ["before", "after", "diff", "seq", "show_lowering"] : ["graph"], load),
    watch(model, ["titles"], titles),
    watch(model, ["mode", "hops"], mode),
    watch(model, ["overlay_state"], overlay),
    watch(model, ["selection"], () => {
      // After a new picture of the same message: the selection is of that one.
      clearTimeout(selecting);
      selecting = window.setTimeout(select);
    }),
    listen(model, (message) => {
      if (message.type === "show") void stage.reveal(message.ids);
      if (message.type === "show_side") void stage.reveal(fromSides(stage.picture, { [message.side]: message.ids }));
    }),
  ];
  stage.options = { ...stage.options, ...opened() };
  stage.direction = direction();
  const start = model.get("viewport");
  if (start && Object.keys(start).length > 0) viewport();
  for (const read of [edges, muted, titles, mode, load, overlay]) read();
  return () => {
    for (const timer of [opening, saving, hovering, selecting]) clearTimeout(timer);
    for (const end of ends) end();
  };
}
