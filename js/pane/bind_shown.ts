/** The traits that every view of graphs has (workbench/widgets/base.py), tied to one stage. */
import { fromPython, initiallyCollapsed, toPython } from "../graph/collapse.ts";
import { type Picture } from "../graph/picture.ts";
import { equal } from "../model/equal.ts";
import { type Model, type Values, watch, write } from "../model/model.ts";
import { fromSides, toSides } from "../model/sides.ts";
import { type Stage } from "../render/stage.ts";

/** A drag's every frame would be a message to the kernel; the last one is enough. */
const VIEWPORT_MS = 250;
/** A pointer crosses many nodes on its way to one. */
const HOVER_MS = 60;

interface Bound {
  /** What a new picture starts with; undefined leaves it to the stage. */
  collapsed(picture: Picture): ReadonlySet<number> | undefined;
  end(): void;
}

export function bindShown(model: Model, stage: Stage): Bound {
  const open = () => ({
    showConstants: model.get("show_constants") === true,
    showTuples: model.get("show_tuples") === true,
    showLowering: model.get("show_lowering") === true,
  });
  const options = () => {
    const wanted = open();
    const direction = model.get("direction") === "right" ? "right" : "down";
    if (direction !== stage.direction) stage.setDirection(direction);
    if (!equal({ ...stage.options, ...wanted }, stage.options)) void stage.setOptions(wanted);
  };
  const edges = () => stage.setEdges(model.get("edges_by_dtype") === true ? "dtype" : "diff");
  const muted = () => stage.setMuted(model.get("muted") ?? []);

  // The values that this page has sent: one that comes back is not a wish of Python's, and by then a glide may have begun.
  const sent: Pick<Values, "collapsed" | "viewport" | "hovered"> = {};
  const tell = <N extends keyof typeof sent>(name: N, value: (typeof sent)[N]) => {
    sent[name] = value;
    write(model, name, value);
  };
  const wish = <N extends keyof typeof sent>(name: N): (typeof sent)[N] => {
    const value = model.get(name);
    return equal(value, sent[name]) ? undefined : value;
  };
  let [opening, saving, hovering] = [0, 0, 0];
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

  const ends = [
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
    watch(model, ["show_constants", "show_tuples", "show_lowering", "direction"], options),
    watch(model, ["edges_by_dtype"], edges),
    watch(model, ["muted"], muted),
    watch(model, ["collapsed"], collapsed),
    watch(model, ["viewport"], viewport),
    watch(model, ["hovered"], hovered),
  ];
  stage.options = { ...stage.options, ...open() };
  stage.direction = model.get("direction") === "right" ? "right" : "down";
  const start = model.get("viewport");
  if (start && Object.keys(start).length > 0) viewport();
  edges();
  muted();
  return {
    collapsed: (picture) => {
      const raw = wish("collapsed");
      return (raw === undefined ? null : fromPython(picture, raw)) ?? undefined;
    },
    end() {
      clearTimeout(opening);
      clearTimeout(saving);
      clearTimeout(hovering);
      for (const end of ends) end();
    },
  };
}
