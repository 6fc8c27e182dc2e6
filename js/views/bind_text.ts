/** The text beside the Workbench's picture: asked for when its tab is open, since a module's text is long. */
import { column } from "../graph/payload.ts";
import { type Stage } from "../render/stage.ts";
import { type Model } from "./model.ts";
import { unpacked } from "./packing.ts";
import { type Tabs } from "./tabs.ts";
import { type PrintedModule, type TextDiff } from "./text_diff.ts";

interface Sent {
  text: string;
  lines: never;
}

export function bindText(model: Model, stage: Stage, tabs: Tabs, text: TextDiff): () => void {
  /** The number of the picture whose text is shown or has been asked for. */
  let asked = -1;
  const show = (sides: unknown) => {
    const [before, after] = (sides as Sent[]).map(({ text, lines }): PrintedModule => ({ text: String(text), lines: column(Uint32Array, lines) }));
    if (before && after) text.show(before, after, stage.picture);
    else text.say("There was no picture yet when this page was saved.");
  };
  const ask = () => {
    const saved = model.get("saved") === true;
    const seq = saved ? 1 : Number(model.get("seq") ?? 0);
    if (tabs.current !== "text" || asked === seq || seq === 0) return;
    asked = seq;
    if (saved) return show(model.get("texts") ?? []);
    text.say("Reading the text …");
    model.send({ type: "text", seq });
  };
  const heard = ((message: Record<string, unknown>, buffers: unknown[]) => {
    if (message.type === "text" && message.seq === model.get("seq")) show((unpacked(message, buffers) as { sides: unknown }).sides);
  }) as (...args: never[]) => void;
  tabs.onpick = ask;
  const off = stage.events.on("scene", ask);
  model.on("msg:custom", heard);
  return () => {
    off();
    model.off("msg:custom", heard);
  };
}
