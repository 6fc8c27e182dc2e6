/** Signs that not every font has, as small drawings that take the text's colour. */
const PATHS = {
  merged: "M4 2v3l4 4v5M12 2v3l-4 4",
  split: "M8 2v5l-4 4v3M8 7l4 4v3",
  full: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  save: "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  undo: "M6 3 2.5 6.5 6 10M2.5 6.5H10a3.5 3.5 0 0 1 0 7H7",
  redo: "M10 3l3.5 3.5L10 10M13.5 6.5H6a3.5 3.5 0 0 0 0 7h3",
} as const;

/** A mark's sign, by its number. */
export function sign(mark: number): Node | string {
  return mark === 4 ? icon("merged") : mark === 5 ? icon("split") : ["", "~", "−", "+"][mark];
}

export function icon(name: keyof typeof PATHS): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", width: "13", height: "13", class: "wb-icon", "aria-hidden": "true" })) svg.setAttribute(key, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ d: PATHS[name], fill: "none", stroke: "currentColor", "stroke-width": "1.7", "stroke-linecap": "round", "stroke-linejoin": "round" })) path.setAttribute(key, value);
  svg.append(path);
  return svg;
}
