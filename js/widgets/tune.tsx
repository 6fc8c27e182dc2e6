/** The TunePanel: the state of a search, as Python describes it. */
import { effect } from "@preact/signals";
import { Blocks } from "../components/blocks.tsx";
import { open } from "../components/shell.tsx";
import { type Model } from "../model/model.ts";

export function tune(model: Model, el: HTMLElement): () => void {
  const { shell, traits, send } = open(model, el, "tune");
  const blocks = traits.get("blocks");
  const height = traits.get("height");
  shell.atEnd(
    effect(() => {
      shell.root.style.maxHeight = `${Number(height.value) || 720}px`;
    }),
  );
  const Panel = () => <Blocks blocks={blocks.value} send={send} class="wb-listed" />;
  shell.render(<Panel />);
  return () => shell.dispose();
}
