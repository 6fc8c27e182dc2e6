/** JupyterLab's colours, read from the page, so that the graph looks at home in any theme and changes with it. */
import { PAGE } from "./colours.ts";

export interface Theme {
  dark: boolean;
  background: string;
  surface: string;
  box: string;
  boxLine: string;
  ink: string;
  dim: string;
  edge: string;
  group: string;
  groupLine: string;
  kernel: string;
  kernelLine: string;
  accent: string;
  /** By mark: kept, changed, removed, added, merged, split. */
  mark: string[];
  orange: string;
  /** Regions. */
  sky: string;
  font: string;
}

/** Whether the page is dark; each kind of page has its own mark for that. */
function isDark(): boolean {
  const body = document.body;
  const jupyter = body.getAttribute("data-jp-theme-light");
  if (jupyter !== null) return jupyter === "false";
  if (/vscode-(dark|high-contrast)/.test(body.className) || body.dataset.vscodeThemeKind?.includes("dark")) return true;
  if (/vscode-light/.test(body.className)) return false;
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;
}

type Variable = keyof typeof PAGE;

/** JupyterLab's colours, which come before the page's own. */
const JUPYTER: { readonly [name in Variable]?: string } = {
  background: "layout-color0",
  surface: "layout-color1",
  raised: "layout-color2",
  ink: "ui-font-color1",
  dim: "ui-font-color2",
  line: "border-color2",
  accent: "brand-color1",
};

/** The variables of the style sheet, as CSS. */
export function variables(): string {
  const names = Object.keys(PAGE) as Variable[];
  const value = (name: Variable, own: string) => (JUPYTER[name] ? `var(--jp-${JUPYTER[name]},${own})` : own);
  const declared = (dark: 0 | 1) => names.map((name) => `--wb-${name}:${value(name, PAGE[name][dark])}`).join(";");
  return `.wb{${declared(0)}}.wb.wb-dark{${declared(1)}}`;
}

export function readTheme(root: HTMLElement): Theme {
  const dark = isDark();
  root.classList.toggle("wb-dark", dark);
  const style = getComputedStyle(root);
  const get = (name: Variable) => style.getPropertyValue(`--wb-${name}`).trim() || "#888";
  return themeOf(get, dark, style.fontFamily || "system-ui, sans-serif");
}

export function themeOf(get: (name: Variable) => string, dark: boolean, font: string): Theme {
  return {
    dark,
    background: get("background"),
    surface: get("surface"),
    box: get("box"),
    boxLine: get("box-line"),
    ink: get("ink"),
    dim: get("dim"),
    edge: get("edge"),
    groupLine: get("group-line"),
    kernelLine: get("kernel-line"),
    accent: get("accent"),
    // Opaque, so that names can stand on plates of the same colour wherever their group is nested.
    group: mix(get("background"), get("tint"), dark ? 0.06 : 0.05),
    kernel: mix(get("background"), get("tint"), dark ? 0.2 : 0.13),
    mark: [get("box-line"), get("changed"), get("removed"), get("added"), get("merged"), get("merged")],
    orange: get("orange"),
    sky: get("sky"),
    font,
  };
}

let probe: CanvasRenderingContext2D | null = null;

/** Any CSS colour as numbers, by the one parser that knows them all; six digits need no canvas, which Node lacks. */
function channels(color: string): number[] {
  if (/^#[0-9a-f]{6}$/.test(color)) return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  probe ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
    willReadFrequently: true,
  })!;
  probe.fillStyle = "#fff";
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

function mix(color: string, tint: string, share: number): string {
  const [a, b] = [channels(color), channels(tint)];
  const mixed = a.map((c, i) => Math.round(c * (1 - share) + b[i] * share));
  return `#${mixed.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
}

/** Calls back when the page's theme changes; returns what ends that. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(() => changed());
  observer.observe(document.body, {
    attributes: true,
    attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class", "data-vscode-theme-kind"],
  });
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  media?.addEventListener("change", changed);
  // The theme's style sheet arrives after the attribute does, at once or over a slow connection.
  const late = () => setTimeout(changed, 400);
  const delayed = new MutationObserver(late);
  delayed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name"] });
  const loaded = ({ target }: Event) => {
    if (target instanceof HTMLLinkElement) changed();
  };
  document.addEventListener("load", loaded, { capture: true });
  return () => {
    observer.disconnect();
    delayed.disconnect();
    document.removeEventListener("load", loaded, { capture: true });
    media?.removeEventListener("change", changed);
  };
}

/** The colour of an edge's place on a scale, from 0 to 1: two colours that are seen on light and on dark pages. */
export function edgeColour(theme: Theme, t: number): string {
  return mix(theme.sky, theme.orange, t);
}
