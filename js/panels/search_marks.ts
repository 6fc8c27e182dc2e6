/** Marks on found words, without touching their elements: the browser paints ranges where it can. */

const NAME = "wb-found";

/** The ranges of one text tab. `CSS.highlights` is one map for the whole page, so all tabs share one entry of it. */
export class SearchMarks {
  private ranges: readonly Range[] = [];

  show(ranges: readonly Range[]): void {
    if (typeof Highlight !== "function") return;
    const shared = CSS.highlights.get(NAME) ?? new Highlight();
    CSS.highlights.set(NAME, shared);
    for (const range of this.ranges) shared.delete(range);
    for (const range of ranges) shared.add(range);
    this.ranges = ranges;
  }
}

/** Where words occur in an element, whatever elements the text is made of. */
export function occurrences(element: Element, words: string, most = 200): Range[] {
  const wanted = words.toLowerCase();
  if (wanted === "") return [];
  const nodes: Text[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode instanceof Text) nodes.push(walker.currentNode);
  const whole = nodes.map((node) => node.data.toLowerCase()).join("");
  const ranges: Range[] = [];
  for (
    let at = whole.indexOf(wanted);
    at >= 0 && ranges.length < most;
    at = whole.indexOf(wanted, at + wanted.length)
  ) {
    const range = document.createRange();
    range.setStart(...place(nodes, at));
    range.setEnd(...place(nodes, at + wanted.length));
    ranges.push(range);
  }
  return ranges;
}

function place(nodes: readonly Text[], offset: number): [Node, number] {
  let left = offset;
  for (const node of nodes) {
    if (left <= node.length) return [node, left];
    left -= node.length;
  }
  return [document, 0];
}
