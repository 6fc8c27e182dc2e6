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
  /** Behind text that lies over lines: a kernel's wash on the background, as one opaque colour. */
  plate: string;
  accent: string;
  /** By mark: kept, changed, removed, added, merged, split. */
  mark: string[];
  orange: string;
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
    ink: get("ink"), dim: get("dim"), edge: get("edge"), group: get("group"), groupLine: get("group-line"),
    kernel: get("kernel"), kernelLine: get("kernel-line"), plate: get("plate"), accent: get("accent"),
    mark: [get("box-line"), get("changed"), get("removed"), get("added"), get("merged"), get("merged")],
    orange: get("orange"),
    font: style.fontFamily || "system-ui, sans-serif",
  };
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
