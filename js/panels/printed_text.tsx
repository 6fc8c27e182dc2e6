/** The texts of the Workbench's picture. They are asked for when their tab is open: the text of a module is long. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { column } from "../graph/payload.ts";
import { type Picture } from "../graph/picture.ts";
import { type Printed } from "../model/messages.ts";
import { listen, type Model } from "../model/model.ts";
import { type PrintedModule } from "../model/trace_store.ts";
import { type Stage } from "../render/stage.ts";
import { TextDiff } from "./text_diff.tsx";

interface PrintedTextProps {
  model: Model;
  stage: Stage;
  /** The number of the picture; 0 before there is one. */
  seq: number;
  /** The texts in a saved page; undefined in a living one. */
  saved: readonly Printed[] | undefined;
  /** Whether the tab is open. */
  open: boolean;
}

interface Shown {
  seq: number;
  texts: readonly [PrintedModule, PrintedModule] | null;
  picture: Picture;
}

export function PrintedText({ model, stage, seq, saved, open }: PrintedTextProps) {
  const [shown, setShown] = useState<Shown | null>(null);
  const asked = useRef(-1);
  useLayoutEffect(() => {
    return listen(model, (message) => {
      if (message.type === "texts" && message.seq === model.get("seq"))
        setShown({ seq: message.seq, texts: pairOf(message.sides), picture: stage.picture });
    });
  }, [model, stage]);
  useLayoutEffect(() => {
    if (!open || asked.current === seq || (seq === 0 && !saved)) return;
    asked.current = seq;
    if (saved) setShown({ seq, texts: pairOf(saved), picture: stage.picture });
    else model.send({ type: "text", seq });
  }, [model, stage, seq, saved, open]);
  // The lines of an older text belong to nodes of an older picture.
  const current = shown?.seq === seq ? shown : null;
  const words = saved ? "There was no picture yet when this page was saved." : "Loading the text …";
  return (
    <TextDiff
      stage={stage}
      texts={current?.texts ?? null}
      picture={current?.picture ?? stage.picture}
      words={open ? words : "Open this tab to load the text."}
    />
  );
}

function pairOf([before, after]: readonly Printed[]): [PrintedModule, PrintedModule] | null {
  return before && after ? [printed(before), printed(after)] : null;
}

function printed({ text, lines }: Printed): PrintedModule {
  return { text, lines: column(Uint32Array, lines) };
}
