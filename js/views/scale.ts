/** The scale of an overlay: what is measured, in which unit, from what to what. */
import { cividis, formatValue, type Overlay } from "../render/overlay.ts";
import { h, replace } from "./dom.ts";

export class Scale {
  readonly element = h("div", { class: "wb-scale", "data-testid": "scale", hidden: true });

  show(overlay: Overlay | null): void {
    this.element.hidden = overlay === null;
    if (!overlay) return;
    const stops = [0, 0.25, 0.5, 0.75, 1].map((t) => cividis(t)).join(", ");
    replace(this.element,
      h("span", { class: "wb-strong" }, overlay.title),
      h("span", {}, formatValue(overlay.low)),
      h("span", { class: "wb-ramp", style: `background: linear-gradient(to right, ${stops})` }),
      h("span", {}, `${formatValue(overlay.high)} ${overlay.unit}`));
  }
}
