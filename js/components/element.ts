/** An element that is not Preact's, with its attributes. Text goes in as text only, so the name of a module cannot become a tag. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The 2D context of a canvas. Every browser that runs a notebook has one. */
export function contextOf(canvas: HTMLCanvasElement, settings?: CanvasRenderingContext2DSettings) {
  const context = canvas.getContext("2d", settings);
  if (!context) throw new Error("This browser draws no 2D canvas.");
  return context;
}
