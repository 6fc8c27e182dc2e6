/** The TunePanel: what Python tells of a search, which is all there is. */
import { Blocks } from "./blocks.ts";
import { h } from "./dom.ts";
import { watch, type Model } from "./model.ts";
import { Shell } from "./shell.ts";

export function tune(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "tune");
  // A saved page has no kernel to ask.
  const saved = model.get("saved") === true;
  shell.root.classList.toggle("wb-saved-page", saved);
  const blocks = new Blocks(h("div", { class: "wb-told" }), null, (message) => { if (!saved) model.send(message); });
  shell.root.append(blocks.element);
  const draw = () => {
    shell.root.style.maxHeight = `${Number(model.get("height")) || 720}px`;
    blocks.show(model.get("blocks"));
  };
  draw();
  const end = watch(model, ["blocks", "height"], draw);
  return () => { end(); shell.dispose(); };
}
