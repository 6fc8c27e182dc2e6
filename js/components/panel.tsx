/** The middle of a widget: the graph between panels that fold to their edges. */
import { type ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { Edge } from "./edge.tsx";
import { usePageId } from "./mount.tsx";
import { useRemembered } from "./remembered.ts";

const LEAST = 140;
const FACES = { left: ["‹", "›"], right: ["›", "‹"] } as const;

/** The largest default height of a widget: a larger one is the choice of a reader, and is kept. */
const LARGEST_DEFAULT = 760;
/** On a laptop, the lines above and below the graph are in view too. */
const OTHERS = 260;

/** `height` is the graph's with its bar; the tabs beneath may take a part of it. */
export function Main({ height, children }: { height: number; children: ComponentChildren }) {
  const main = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const room = height > LARGEST_DEFAULT ? `${height}px` : `min(${height}px, max(400px, 100vh - ${OTHERS}px))`;
    main.current?.closest<HTMLElement>(".wb")?.style.setProperty("--wb-height", room);
  }, [height]);
  return (
    <div class="wb-main" ref={main}>
      {children}
    </div>
  );
}

interface PanelProps {
  name: string;
  side: "left" | "right";
  /** Where there is room for it; counts until the reader folds or opens it. */
  startsOpen: boolean;
  children: ComponentChildren;
}

export function Panel({ name, side, startsOpen, children }: PanelProps) {
  const id = usePageId();
  const panel = useRef<HTMLElement>(null);
  const [chosen, choose] = useState<boolean | null>(null);
  const [width, remember] = useRemembered(`${name.toLowerCase()}-width`);
  const open = chosen ?? startsOpen;
  /** Half of the width is the graph's. */
  const most = () => {
    const main = panel.current?.parentElement;
    const others = [...(main?.querySelectorAll<HTMLElement>(".wb-panel") ?? [])].filter((e) => e !== panel.current);
    return others.reduce((room, other) => room - other.offsetWidth, (main?.clientWidth ?? 0) / 2);
  };
  const edge = (
    <Edge
      side={side === "left" ? "right" : "left"}
      label={`Width of ${name.toLowerCase()}`}
      panel={panel}
      controls={id}
      least={LEAST}
      most={most}
      onResize={remember}
      onReset={() => remember(null)}
    />
  );
  return (
    <aside
      id={id}
      ref={panel}
      class={`wb-panel wb-panel-${side}${open ? "" : " wb-closed"}`}
      aria-label={name}
      style={open && width !== null ? { width: `${width}px` } : {}}
    >
      <div class="wb-panel-head">
        <span class="wb-strong">{name}</span>
        <Button
          label={`${open ? "Close" : "Open"} ${name.toLowerCase()}`}
          class="wb-button wb-fold"
          testid={`fold-${side}`}
          aria-expanded={open}
          onClick={() => choose(!open)}
        >
          {FACES[side][open ? 0 : 1]}
        </Button>
      </div>
      {children}
      {open && edge}
    </aside>
  );
}
