/** The lower panel: tabs beneath the graph. A click on the open one closes it, so that the graph gets the room. */
import { type ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Edge } from "./edge.tsx";
import { usePageId } from "./mount.tsx";
import { useRemembered } from "./remembered.ts";
import { roving } from "./roving.ts";

const LEAST = 60;
/** The time in which the content of a tab comes. */
const COMING_MS = 3000;
/** Pixels of the graph that no drag takes. */
const LEAST_GRAPH = 160;

interface TabsProps {
  tabs: readonly { name: string; title: string; content: ComponentChildren }[];
  /** The name of the open tab; "" where all are closed. */
  open: string;
  onPick(name: string): void;
  /** The height is remembered under this name. */
  name?: string;
  /** At the end of the bar. */
  children?: ComponentChildren;
}

/** Its place is beneath a `Main`, whose height it shares: what a drag gives to the one, it takes from the other. */
export function Tabs({ tabs, open, onPick, name = "tabs", children }: TabsProps) {
  const id = usePageId();
  const body = useRef<HTMLDivElement>(null);
  const [height, most, resize, reset] = useHeight(body, name, open !== "");
  const at = tabs.findIndex((tab) => tab.name === open);
  const picked = useRef(false);
  useLayoutEffect(() => {
    if (picked.current && open !== "") return keptInView(body.current);
  }, [open]);
  return (
    <section class={`wb-tabs${at < 0 ? " wb-closed" : ""}`}>
      {at >= 0 && (
        <Edge
          side="top"
          label="Height of the lower panel"
          panel={body}
          controls={`${id}-body`}
          least={LEAST}
          most={most}
          onResize={resize}
          onReset={reset}
        />
      )}
      <div class="wb-tab-bar">
        {/* Arrows move the focus only: the content of some tabs takes Python long. */}
        <div role="tablist" ref={roving}>
          {tabs.map((tab, i) => (
            <button
              key={tab.name}
              type="button"
              class="wb-tab"
              role="tab"
              id={`${id}-tab-${tab.name}`}
              aria-selected={i === at}
              aria-controls={`${id}-panel-${tab.name}`}
              data-testid={`tab-${tab.name}`}
              onClick={() => {
                picked.current = true;
                onPick(i === at ? "" : tab.name);
              }}
            >
              {tab.title}
            </button>
          ))}
        </div>
        {children}
      </div>
      <div class="wb-tab-body" id={`${id}-body`} ref={body} style={height === null ? {} : { height: `${height}px` }}>
        {tabs.map((tab, i) => (
          <div
            key={tab.name}
            role="tabpanel"
            id={`${id}-panel-${tab.name}`}
            aria-labelledby={`${id}-tab-${tab.name}`}
            hidden={i !== at}
          >
            {tab.content}
          </div>
        ))}
      </div>
    </section>
  );
}

/** Scrolls to an opened panel, and again while its content comes from Python, until the reader scrolls. */
function keptInView(panel: HTMLElement | null): (() => void) | undefined {
  if (!panel) return undefined;
  const sizes = new ResizeObserver(() => panel.scrollIntoView({ block: "nearest" }));
  sizes.observe(panel);
  const end = () => sizes.disconnect();
  const timer = setTimeout(end, COMING_MS);
  addEventListener("wheel", end, { once: true, passive: true });
  return () => {
    clearTimeout(timer);
    removeEventListener("wheel", end);
    end();
  };
}

/** The height of the body, and what it takes from the graph above: `--wb-taken` of the widget, in pixels. */
function useHeight(body: { current: HTMLElement | null }, name: string, open: boolean) {
  const [height, remember] = useRemembered(`${name}-height`);
  const [taken, setTaken] = useState(0);
  // A remembered height is a wish: only a drag may take more than half.
  const [dragged, setDragged] = useState(false);
  useLayoutEffect(() => {
    const root = body.current?.closest<HTMLElement>(".wb");
    root?.style.setProperty("--wb-taken", `${open ? taken : 0}px`);
    root?.classList.toggle("wb-lower-dragged", open && dragged);
  }, [body, open, taken, dragged]);
  const most = () => {
    const graph = body.current?.closest(".wb")?.querySelector<HTMLElement>(".wb-main");
    return (body.current?.offsetHeight ?? 0) + (graph?.offsetHeight ?? 0) - LEAST_GRAPH;
  };
  const resize = (size: number) => {
    const now = body.current?.offsetHeight ?? 0;
    setDragged(true);
    // A drag holds the function of the drawing in which it began.
    setTaken((before) => before + size - now);
    remember(size);
  };
  const reset = () => {
    setDragged(false);
    setTaken(0);
    remember(null);
  };
  return [height, most, resize, reset] as const;
}
