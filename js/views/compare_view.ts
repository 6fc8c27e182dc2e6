/** Before and after, and nothing else. */
import { Stage } from "../render/stage.ts";
import { bindCompare } from "./bind_compare.ts";
import { Compare } from "./compare.ts";
import { watch, type Model } from "./model.ts";
import { probe } from "./probe.ts";
import { Shell } from "./shell.ts";

export function compareView(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "compare-view");
  const stage = new Stage(shell.ruler);
  probe(shell.root, stage);
  const compare = new Compare(shell, stage);
  shell.root.append(compare.bar, compare.element, shell.status);
  const height = () => { compare.element.style.height = `${Number(model.get("height")) || 520}px`; };
  height();
  const ends = [
    watch(model, ["height"], height),
    bindCompare(model, compare, shell, (message) => shell.say(message)),
  ];
  return () => {
    for (const end of ends) end();
    compare.dispose();
    stage.dispose();
    shell.dispose();
  };
}
