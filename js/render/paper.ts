/** Colours and text widths where there is no page to ask: a picture made beside the browser. */
import { PAGE } from "./colours.ts";
import { Ruler } from "./text.ts";
import { themeOf } from "./theme.ts";

/** Helvetica's widths in thousandths from " " to "~" (Adobe's AFM files); Arial and Liberation Sans have the same ones. */
const REGULAR = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 584, 278, 278, 556, 556, 556, 556, 556, 556, 556,
  556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
  722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
  556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
  260, 334, 584,
];
const BOLD = [
  278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 584, 278, 278, 556, 556, 556, 556, 556, 556, 556,
  556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833,
  722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611,
  556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389,
  280, 389, 584,
];
/** From Hangul on, most letters are as wide as they are high. */
const FIRST_WIDE = 0x1100;

/** A ruler by two such tables, regular and bold: Helvetica's, or those of the font that the picture will be drawn with. */
export function paperRuler([regular, bolder] = [REGULAR, BOLD]): Ruler {
  return new Ruler((character, bold) => {
    const code = character.codePointAt(0)!;
    const known = (bold ? bolder : regular)[code - 32];
    if (known !== undefined) return known / 1000;
    return code >= FIRST_WIDE || character === "…" ? 1 : 0.6;
  });
}

/** The page's colours where no theme changes them. */
export const PAPER = themeOf((name) => PAGE[name][0], false, "Helvetica, Arial, 'Liberation Sans', sans-serif");
