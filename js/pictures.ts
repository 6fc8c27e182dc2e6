/**
 * Draws a view without a page: workbench/widgets/pictures.py runs this program under Node. It reads the view's traits as JSON
 * and writes `svg`, or the `strokes` that become a PDF or PNG.
 */
import { readFileSync } from "node:fs";
import { fromPython, initiallyCollapsed } from "./graph/collapse.ts";
import { decode, type Payload } from "./graph/payload.ts";
import { compare, type Picture, single } from "./graph/picture.ts";
import { readDiff } from "./graph/read_diff.ts";
import { readOverlay } from "./render/overlay.ts";
import { PAPER, paperRuler } from "./render/paper.ts";
import { type Sheet, toStrokes, toSvg } from "./render/save.ts";
import { Stage } from "./render/stage.ts";

type Traits = Record<string, unknown>;

async function main(format: string | undefined): Promise<void> {
  // Nothing is painted here, so the next frame never comes.
  globalThis.requestAnimationFrame = () => 1;
  const sheets = await drawn(JSON.parse(readFileSync(0, "utf8")) as Traits);
  process.stdout.write(format === "svg" ? toSvg(sheets) : JSON.stringify(toStrokes(sheets)));
}

async function drawn(traits: Traits): Promise<Sheet[]> {
  const stage = new Stage(paperRuler(traits.widths as [number[], number[]] | undefined));
  const picture = pictureOf(traits);
  stage.options = {
    ...stage.options,
    showConstants: traits.show_constants === true,
    showTuples: traits.show_tuples === true,
  };
  stage.direction = traits.direction === "right" ? "right" : "down";
  stage.apart = traits.mode === "overlay";
  stage.changedOnly = traits.mode === "changed";
  stage.hops = typeof traits.hops === "number" ? traits.hops : 1;
  stage.setMuted((traits.muted as string[] | undefined) ?? []);
  stage.setEdges(traits.edges_by_dtype === true ? "dtype" : "diff");
  stage.setOverlay(readOverlay(traits.overlay_state));
  await stage.setPicture(
    picture,
    fromPython(picture, traits.collapsed) ?? initiallyCollapsed(picture, stage.options.showConstants),
  );
  const titles = (traits.titles ?? []) as string[];
  return sheets(picture, stage).map(([sides, title]) => sheet(stage, sides, titles[title] ?? ""));
}

function pictureOf(traits: Traits): Picture {
  // an inspector's `before` is a text, the passes that run first
  if (traits.graph) return single(decode(traits.graph as Partial<Payload>));
  return compare(
    decode(traits.before as Partial<Payload>),
    decode(traits.after as Partial<Payload>),
    readDiff(traits.diff as Parameters<typeof readDiff>[0]),
  );
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
  const { scene } = stage;
  if (!scene) throw new Error("the graph has no arrangement");
  const frame = {
    scene,
    camera: stage.camera,
    view: stage.view,
    theme: PAPER,
    ruler: stage.ruler,
    look: stage.look,
    sides,
    textSide: (sides === 1 ? 0 : 1) as 0 | 1,
    t: 1,
    earlier: null,
  };
  return { frame, title };
}

await main(process.argv[2]);
