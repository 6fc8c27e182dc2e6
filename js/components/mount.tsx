/** Preact in a notebook: where components meet elements that are not Preact's. */
import { type ComponentChild, options, render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const FOCUSABLE = new Set(["button", "input", "select", "textarea", "summary", "a"]);

// JupyterLab walks up from the focused element and runs its own shortcuts unless the first element it meets has this mark.
const before = options.vnode;
options.vnode = (vnode) => {
  if (typeof vnode.type === "string" && (FOCUSABLE.has(vnode.type) || "tabIndex" in vnode.props))
    Object.assign(vnode.props, { "data-lm-suppress-shortcuts": "true" });
  before?.(vnode);
};

/** Draw components in an element; the function that is returned removes them. */
export function mount(children: ComponentChild, element: Element): () => void {
  render(children, element);
  return () => render(null, element);
}

/** Components in an element of their own, for a parent that is not Preact's. */
export function elementOf(children: ComponentChild): HTMLElement {
  const element = document.createElement("div");
  element.style.display = "contents";
  render(children, element);
  return element;
}

/** An element that is not Preact's (a canvas, an editor), in its place among components. */
export function Hosted({ element, ...props }: { element: Element; class?: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place.current?.replaceChildren(element), [element]);
  return <div ref={place} style="display: contents" {...props} />;
}

// Each widget of a notebook may load this module anew, so a number alone is not unique in the page.
const MODULE = Math.random().toString(36).slice(2, 8);
let count = 0;

/** An id for aria attributes that no other element of the page has; the same one in every drawing of a component. */
export function usePageId(): string {
  return useState(() => `wb-${MODULE}-${++count}`)[0];
}
