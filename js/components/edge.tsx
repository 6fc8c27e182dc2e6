/** The edge of a panel: drag it, or move it with the arrow keys. A double click brings the first size back. */
import { type RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

const STEP = 24;

interface EdgeProps {
  /** Which edge of the panel it is. */
  side: "top" | "left" | "right";
  label: string;
  panel: RefObject<HTMLElement | null>;
  /** The id of the panel. */
  controls: string;
  /** In pixels. */
  least: number;
  most(): number;
  onResize(size: number): void;
  onReset(): void;
}

export function Edge({ side, label, panel, controls, least, most, onResize, onReset }: EdgeProps) {
  const upright = side !== "top";
  const size = () => {
    const box = panel.current?.getBoundingClientRect();
    return Math.round((upright ? box?.width : box?.height) ?? 0);
  };
  const resize = (wish: number) => onResize(Math.round(Math.max(least, Math.min(wish, most()))));
  const [now, setNow] = useState(0);
  const [max, setMax] = useState(0);
  const measure = () => {
    setNow(size());
    setMax(Math.round(most()));
  };
  // The size is that of the drawing, and other things may have changed it before the edge gets the focus.
  useLayoutEffect(measure);
  /** The size grows where the edge moves away from the panel's middle. */
  const outward = side === "right" ? 1 : -1;
  const drag = (down: PointerEvent) => {
    if (down.button !== 0 || !(down.currentTarget instanceof HTMLElement)) return;
    const edge = down.currentTarget;
    const at = (event: PointerEvent) => (upright ? event.clientX : event.clientY);
    const [size0, at0] = [size(), at(down)];
    const move = (event: PointerEvent) => resize(size0 + outward * (at(event) - at0));
    const end = () => {
      edge.removeEventListener("pointermove", move);
      edge.classList.remove("wb-dragging");
    };
    edge.setPointerCapture(down.pointerId);
    edge.classList.add("wb-dragging");
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", end, { once: true });
  };
  const key = (event: KeyboardEvent) => {
    const keys = upright ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const way = event.key === keys[0] ? -1 : event.key === keys[1] ? 1 : 0;
    if (way !== 0) resize(size() + way * outward * STEP);
    else if (event.key === "Home" || event.key === "Enter") onReset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot have the focus
    <div
      class={`wb-edge wb-edge-${side}`}
      role="separator"
      tabIndex={0}
      aria-orientation={upright ? "vertical" : "horizontal"}
      aria-label={label}
      aria-controls={controls}
      aria-valuemin={least}
      aria-valuemax={max}
      aria-valuenow={now}
      title={`${label}: drag, or use the arrow keys. Double-click for the first size.`}
      data-testid={`edge-${side}`}
      onFocus={measure}
      onPointerDown={drag}
      onDblClick={onReset}
      onKeyDown={key}
    />
  );
}
