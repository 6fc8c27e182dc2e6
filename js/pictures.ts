/**
 * Draws a view without a page: workbench/widgets/pictures.py runs this program under Node. It reads the view's traits as JSON
 * and writes `svg`, or the `strokes` that become a PDF or PNG.
 */
import { readFileSync } from "node:fs";
import { fromPython, initiallyCollapsed } from "./graph/collapse.ts";
import { type Picture, readPicture } from "./graph/picture.ts";
import { type Values } from "./model/model.ts";
import { readOverlay } from "./render/overlay.ts";
import { PAPER, paperRuler } from "./render/paper.ts";
import { type Sheet, toStrokes, toSvg } from "./render/save.ts";
import { Stage } from "./render/stage.ts";

/** The traits of a view, and the widths of letters for a PDF or PNG. */
type Given = Values & { widths?: [number[], number[]] };

async function main(format: string | undefined): Promise<void> {
  // Nothing is painted here, so the next frame never comes.
  globalThis.requestAnimationFrame = () => 1;
  const sheets = await drawn(JSON.parse(readFileSync(0, "utf8")) as Given);
  process.stdout.write(format === "svg" ? toSvg(sheets) : JSON.stringify(toStrokes(sheets)));
}

async function drawn(traits: Given): Promise<Sheet[]> {
  const stage = new Stage(paperRuler(traits.widths));
  const picture = readPicture(traits);
  stage.options = {
    ...stage.options,
    showConstants: traits.show_constants === true,
    showTuples: traits.show_tuples === true,
    showLowering: traits.show_lowering === true,
  };
  stage.direction = traits.direction === "right" ? "right" : "down";
  stage.apart = traits.mode === "overlay";
  stage.changedOnly = traits.mode === "changed";
  stage.hops = traits.hops ?? 1;
  stage.setMuted(traits.muted ?? []);
  stage.setEdges(traits.edges_by_dtype === true ? "dtype" : "diff");
  stage.setOverlay(readOverlay(traits.overlay_state));
  await stage.setPicture(
    picture,
    fromPython(picture, traits.collapsed) ?? initiallyCollapsed(picture, stage.options.showConstants),
  );
  return sheets(picture, stage).map(([sides, title]) => sheet(stage, sides, traits.titles?.[title] ?? ""));
}

/** Which sides each sheet shows, and whose title it has: the overlay is both, so it has none. */
function sheets(picture: Picture, stage: Stage): [number, number][] {
  if (!picture.compares) return [[1, 0]];
  return stage.apart
    ? [[3, -1]]
    : [
        [1, 0],
        [2, 1],
      ];
}

function sheet(stage: Stage, sides: number, title: string): Sheet {
  const frame = stage.frameFor(stage.view, PAPER, sides);
  if (!frame) throw new Error("the graph has no arrangement");
  return { frame: { ...frame, t: 1, earlier: null }, title };
}

await main(process.argv[2]);
