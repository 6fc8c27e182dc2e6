/** Text widths without asking the browser each time, and cutting with an ellipsis. */

import { remembered } from "../graph/labels.ts";

const ELLIPSIS = "…";

export class Ruler {
  /** Widths at a font size of 1, of light and bold characters and texts. */
  private readonly characters: ((c: string) => number)[];
  private readonly texts: ((text: string) => number)[];

  constructor(measure: (character: string, bold: boolean) => number) {
    this.characters = [false, true].map((bold) => remembered((c) => measure(c, bold)));
    const sum = (text: string, width: (c: string) => number) => [...text].reduce((all, c) => all + width(c), 0);
    this.texts = this.characters.map((width) => remembered((text) => sum(text, width)));
  }

  /** Width at a font size. Kerning is left out: it only ever makes text narrower in the fonts Jupyter uses. */
  width(text: string, size: number, bold = false): number {
    return this.texts[bold ? 1 : 0](text) * size;
  }

  /** The longest beginning of a text that fits, with an ellipsis where something was cut; "" where nothing fits. */
  fit(text: string, room: number, size: number, bold = false): string {
    let sum = 0;
    let end = 0;
    let cut = 0;
    const limit = room / size;
    const width = this.characters[bold ? 1 : 0];
    const dots = width(ELLIPSIS);
    for (const c of text) {
      sum += width(c);
      if (sum > limit) return cut === 0 ? "" : text.slice(0, cut).trimEnd() + ELLIPSIS;
      end += c.length;
      if (sum + dots <= limit) cut = end;
    }
    return text;
  }
}

/** A ruler over a real canvas. Line breaks and other controls have no width and are drawn as blanks by canvas. */
export function canvasRuler(family: string): Ruler {
  const context = document.createElement("canvas").getContext("2d")!;
  return new Ruler((c, bold) => {
    context.font = `${bold ? "600 " : ""}100px ${family}`;
    return context.measureText(c).width / 100;
  });
}

const CONTROL = /[\u0000-\u001f\u007f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/;

/** One line, no controls, and never more than a screenful, cut between words: what any string is before it is measured or drawn. */
export function oneLine(text: string, limit = 300): string {
  const cut = text.length > limit ? text.slice(0, limit - 1).replace(/\s+\S{0,30}$/, "") + ELLIPSIS : text;
  return CONTROL.test(cut) ? cut.replace(new RegExp(CONTROL, "g"), " ") : cut;
}
