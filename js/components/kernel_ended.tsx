/** The banner of a widget whose kernel has ended. Its controls are off; the graph can still be moved. */
import { render } from "preact";

const WORDS = "The kernel has ended. Run the cell again.";

export function showEnded(root: HTMLElement): void {
  if (root.querySelector(".wb-kernel-ended")) return;
  const place = document.createElement("div");
  place.className = "wb-kernel-ended";
  root.prepend(place);
  render(
    <div role="alert" data-testid="kernel-ended">
      {WORDS}
    </div>,
    place,
  );
  switchOff(root);
}

/** Everything but the panes of the graph. */
function switchOff(element: Element): void {
  for (const child of element.children) {
    if (!(child instanceof HTMLElement) || child.matches("style, .wb-kernel-ended, .wb-pane")) continue;
    if (child.querySelector(".wb-pane")) switchOff(child);
    else child.inert = true;
  }
}
