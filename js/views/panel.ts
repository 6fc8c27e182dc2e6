/** A panel that folds to its edge, and starts folded where there is no room for it. */
import { button, h } from "./dom.ts";
import { type Shell } from "./shell.ts";

export function panel(name: string, side: "left" | "right", body: HTMLElement, shell: Shell, startsClosed: () => boolean): HTMLElement {
  const face = { left: ["‹", "›"], right: ["›", "‹"] }[side];
  let byHand = false;
  const fold = button("", "", () => { byHand = true; set(!element.classList.contains("wb-closed")); }, { class: "wb-button wb-fold", "data-testid": `fold-${side}` });
  const element = h("aside", { class: `wb-panel wb-panel-${side}`, "aria-label": name }, h("div", { class: "wb-panel-head" }, h("span", { class: "wb-strong" }, name), fold), body);
  const set = (closed: boolean) => {
    element.classList.toggle("wb-closed", closed);
    fold.textContent = closed ? face[1] : face[0];
    fold.title = closed ? `Open ${name.toLowerCase()}` : `Close ${name.toLowerCase()}`;
    fold.setAttribute("aria-label", fold.title);
    fold.setAttribute("aria-expanded", String(!closed));
  };
  set(false);
  const observer = new ResizeObserver(() => { if (!byHand && shell.root.clientWidth > 0) set(startsClosed()); });
  observer.observe(shell.root);
  shell.atEnd(() => observer.disconnect());
  return element;
}
