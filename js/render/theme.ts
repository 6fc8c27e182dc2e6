/** JupyterLab's colours, read from the page, so that the graph looks at home in any theme and changes with it. */

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

/** Puts the class that style.css's fallbacks hang on: themes outside JupyterLab say light or dark in other ways. */
export function isDark(): boolean {
  const body = document.body;
  const jupyter = body.getAttribute("data-jp-theme-light");
  if (jupyter !== null) return jupyter === "false";
  if (/vscode-(dark|high-contrast)/.test(body.className) || body.dataset.vscodeThemeKind?.includes("dark")) return true;
  if (/vscode-light/.test(body.className)) return false;
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;
}

export function readTheme(root: HTMLElement): Theme {
  const dark = isDark();
  root.classList.toggle("wb-dark", dark);
  const style = getComputedStyle(root);
  const get = (name: string) => style.getPropertyValue(`--wb-${name}`).trim() || "#888";
  return {
    dark,
    background: get("background"), surface: get("surface"), box: get("box"), boxLine: get("box-line"),
    ink: get("ink"), dim: get("dim"), edge: get("edge"), groupLine: get("group-line"), kernelLine: get("kernel-line"), accent: get("accent"),
    // Opaque, so that names can stand on plates of the same colour wherever their group is nested.
    group: mix(get("background"), get("tint"), dark ? 0.06 : 0.05),
    kernel: mix(get("background"), get("tint"), dark ? 0.2 : 0.13),
    mark: [get("box-line"), get("changed"), get("removed"), get("added"), get("merged"), get("merged")],
    orange: get("orange"), sky: get("sky"),
    font: style.fontFamily || "system-ui, sans-serif",
  };
}

let probe: CanvasRenderingContext2D | null = null;

/** Any CSS colour as numbers, by the one parser that knows them all. */
function channels(color: string): number[] {
  probe ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true })!;
  probe.fillStyle = "#fff";
  probe.fillStyle = color;
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

function mix(color: string, tint: string, share: number): string {
  const [a, b] = [channels(color), channels(tint)];
  return `rgb(${a.map((c, i) => Math.round(c * (1 - share) + b[i] * share)).join(",")})`;
}

/** Calls back when the page's theme changes; returns what ends that. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(() => changed());
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class", "data-vscode-theme-kind"] });
  const media = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : null;
  media?.addEventListener("change", changed);
  // The theme's style sheet arrives after the attribute does.
  const late = () => setTimeout(changed, 400);
  const delayed = new MutationObserver(late);
  delayed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name"] });
  return () => {
    observer.disconnect();
    delayed.disconnect();
    media?.removeEventListener("change", changed);
  };
}
