/** Where the selected node came from and what became of it, as a ribbon under the graph: one link for each pass that touched it. */
import { opName } from "../graph/labels.ts";
import { oneLine } from "../render/text.ts";
import { h, replace } from "./dom.ts";
import { type Place, type StepState } from "./messages.ts";

/** What a link is called, and what that means. */
const SURE: Record<string, string> = {
  exact: "the same operator, attributes, type and inputs",
  structural: "paired by the difference of the graphs, though an attribute, the type or an input changed",
  span: "they name the same place of the source program",
  place: "the one stands where the other stood",
};

export class Ribbon {
  readonly element = h("div", { class: "wb-ribbon", role: "group", "aria-label": "History of the selected node", "data-testid": "ribbon", hidden: true });
  onpick: (place: Place) => void = () => undefined;

  hide(): void {
    this.element.hidden = true;
  }

  /** Shows a node's way through the states; `shown` are the two states on the screen. */
  show(places: readonly Place[], steps: readonly StepState[], shown: readonly number[]): void {
    const parts: HTMLElement[] = [];
    let quiet = 0;
    places.forEach((place, i) => {
      const last = places[i - 1];
      if (i > 0 && untouched(last, place)) {
        quiet++;
        return;
      }
      if (place.ids.length === 0 && (i === 0 || last.ids.length === 0)) return;
      if (i > 0) parts.push(link(place, steps, quiet, last.ids.length > 0));
      quiet = 0;
      // The newest of the untouched states on the screen stands for all of them.
      const run = places.slice(i).findIndex((later, k) => k > 0 && !untouched(places[i + k - 1], later));
      const alike = places.slice(i, run < 0 ? undefined : i + run);
      parts.push(this.stop(place, alike.some(({ state }) => shown.includes(state))));
    });
    if (quiet > 0) parts.push(h("span", { class: "wb-dim wb-ribbon-quiet" }, passes(quiet)));
    const kernels = places.at(-1)?.kernels ?? [];
    this.element.hidden = parts.length === 0;
    replace(this.element, h("span", { class: "wb-dim wb-ribbon-name" }, "History"), parts,
      places.at(-1)?.ids.length === 0 ? h("span", { class: "wb-dim" }, "nothing of it is left at the end") : kernels.length > 0 ? h("span", { class: "wb-dim" }, `ends in ${kernels.length === 1 ? "kernel" : "kernels"} ${kernels.map((name) => oneLine(name, 60)).join(", ")}`) : null);
  }

  private stop(place: Place, here: boolean): HTMLElement {
    if (place.ids.length === 0) return h("span", { class: "wb-ribbon-gone wb-mark-removed" }, "gone");
    const ops = place.ops.map((op) => opName(oneLine(op, 40)) || "(no name)");
    const many = place.ids.length > ops.length ? ` × ${place.ids.length}` : "";
    const words = `${ops.slice(0, 3).join(", ")}${ops.length > 3 ? " …" : ""}${many}`;
    const kernel = place.kernels.length > 0 ? h("span", { class: "wb-ribbon-kernel", title: `in kernel ${place.kernels.map((name) => oneLine(name, 200)).join(", ")}` }, oneLine(place.kernels.join(", "), 34)) : null;
    return h("button", { type: "button", class: `wb-ribbon-stop${here ? " wb-current" : ""}`, "data-testid": `ribbon-${place.state}`, title: `Go there with ${ops.join(", ")} selected`, onclick: () => this.onpick(place) }, words, kernel);
  }
}

/** Whether nothing about the node changed from one state to the next. */
function untouched(before: Place, after: Place): boolean {
  const sure = after.sure === "exact" || (after.ids.length === 0 && before.ids.length === 0);
  return sure && before.ids.length === after.ids.length && before.kernels.join() === after.kernels.join() && before.ops.join() === after.ops.join();
}

function link(place: Place, steps: readonly StepState[], quiet: number, from: boolean): HTMLElement {
  const sure = place.sure || (from ? "exact" : "made here");
  const name = place.step >= 0 ? steps[place.step]?.name ?? "" : "";
  return h("span", { class: `wb-ribbon-link wb-sure-${sure in SURE ? sure : "place"}`, title: `${name}: ${[sure, SURE[sure]].filter(Boolean).join(", ")}${quiet > 0 ? `\n${passes(quiet)} before it left it as it was` : ""}` },
    h("span", { class: "wb-ribbon-pass" }, oneLine(name, 40)), h("span", { class: "wb-ribbon-sure" }, place.ids.length === 0 ? "" : sure));
}

function passes(n: number): string {
  return `${n} ${n === 1 ? "pass" : "passes"}`;
}
