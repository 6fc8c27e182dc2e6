/** Ids for aria attributes. */
import { useState } from "preact/hooks";

// Each widget of a notebook may load this module anew, so a number alone is not unique in the page.
const MODULE = Math.random().toString(36).slice(2, 8);
let count = 0;

/** An id that no other element of the page has; the same one in every drawing of a component. */
export function usePageId(): string {
  return useState(() => `wb-${MODULE}-${++count}`)[0];
}
