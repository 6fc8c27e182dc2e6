/**
 * Keeps the picture that a notebook shows without its kernel (workbench/widgets/still.py): the view as it is on the screen,
 * sent to Python when nothing has changed for a second. The view hides that picture while it is on the page.
 */
import { element } from "../components/element.ts";
import { type Model } from "../model/model.ts";
import { bounded, type Drawing, type StillSheet, stillPixels, stillSvg } from "../render/still.ts";
import { oneLine } from "../render/text.ts";

const REST_MS = 1000;

export function keepStill(model: Model, root: HTMLElement): () => void {
  const id = model.get("_still_id") ?? "";
  if (model.get("saved") === true || !/^\w+$/.test(id)) return () => undefined;
  root.dataset.still = id;
  const picture = `[data-wb-still="${id}"]`;
  // Only the output of the picture itself: an Output widget around view and picture holds the picture too.
  root.append(
    element(
      "style",
      {},
      `${picture},.jp-OutputArea-child:not(:has(.jp-OutputArea-child)):has(${picture}){display:none}`,
    ),
  );
  let sent = "";
  let timer = 0;
  const send = () => {
    // A chart in a tab is hidden most of the time. (JupyterLab has tab panels around the view too.)
    const canvases = [...root.querySelectorAll<HTMLCanvasElement>("canvas.wb-canvas:not(.wb [role=tabpanel] *)")];
    const sheets = canvases.map(sheetOf).filter((sheet) => sheet !== null);
    // A graph that is still being arranged, or a view that is not on the screen: its next scene or size brings us back.
    if (sheets.length < canvases.length) return;
    const drawn = sheets.length > 0 ? pictureOf(sheets, root.querySelector(".wb-turned") !== null) : "";
    // Of a view without a graph Python keeps words, and makes them anew when those on the page have changed.
    const content = sheets.length > 0 ? drawn : (root.textContent ?? "");
    if (content === sent) return;
    sent = content;
    model.send({ type: "still", picture: drawn });
  };
  const soon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(send, REST_MS);
  };
  const scenes = new MutationObserver(soon);
  scenes.observe(root, { attributeFilter: ["data-scenes"] });
  const sizes = new ResizeObserver(soon);
  sizes.observe(root);
  model.on("change", soon);
  soon();
  return () => {
    clearTimeout(timer);
    scenes.disconnect();
    sizes.disconnect();
    model.off("change", soon);
  };
}

function sheetOf(canvas: HTMLCanvasElement): StillSheet | null {
  const drawing = drawingOf(canvas);
  const head = canvas.closest(".wb-side")?.querySelector(".wb-pane-head");
  const title = oneLine(shownText(head));
  return drawing ? { ...drawing, title } : null;
}

/** The words of an element that are on the screen, without what hidden parts and buttons say. */
function shownText(part: Element | null | undefined): string {
  if (!part || part.matches("[hidden], button")) return "";
  const parts = [...part.childNodes].map((node) =>
    node instanceof Element ? shownText(node) : (node.textContent ?? ""),
  );
  return parts
    .map((part) => part.trim())
    .filter(Boolean)
    .join(" ");
}

/** SVG where that is short, else pixels: so a graph of thousands of boxes takes as little as one of ten. */
function pictureOf(sheets: readonly StillSheet[], stacked: boolean): string {
  const svg = stillSvg(sheets, stacked);
  return bounded(`data:image/svg+xml;base64,${base64(svg)}`) ?? stillPixels(sheets, stacked) ?? "";
}

function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));
}

const drawings = new WeakMap<HTMLCanvasElement, () => Drawing | null>();

/** Keep the function that returns a canvas' drawing for the picture; null while there is none. */
export function keepDrawing(canvas: HTMLCanvasElement, drawing: () => Drawing | null): void {
  drawings.set(canvas, drawing);
}

function drawingOf(canvas: HTMLCanvasElement): Drawing | null {
  return drawings.get(canvas)?.() ?? null;
}
