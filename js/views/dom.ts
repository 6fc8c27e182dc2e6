/** Elements without markup: text only ever goes in as text, so nothing a module is named can become a tag. */

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary", "a"]);

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on") && typeof value === "function") element.addEventListener(key.slice(2).toLowerCase(), value as EventListener);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "open") (element as unknown as Props)[key] = value;
    else if (value === true) element.setAttribute(key, "");
    else element.setAttribute(key, String(value));
  }
  // JupyterLab looks for this on its way up from what has the focus, and tries its shortcuts on that before it looks further.
  if (FOCUSABLE.has(tag) || "tabindex" in props) element.setAttribute("data-lm-suppress-shortcuts", "true");
  append(element, children);
  return element;
}

export function append(element: Element, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "object" ? child : String(child));
  }
}

export function replace(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren();
  append(element, children);
}

/** A quiet button; `label` is its accessible name and tooltip where the face is a sign. */
export function button(face: string | Node, label: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "wb-button", title: label, "aria-label": label, onclick, ...props }, face);
}

/** Sets text only where it differs: a screen reader speaks a live region each time it changes. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
