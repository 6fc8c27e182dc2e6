/** Zoom, fit, save as SVG or PNG, full screen, the list of keys: at the end of every graph's bar. */
import { type Stage } from "../render/stage.ts";
import { Button } from "./button.tsx";
import { contextOf, element } from "./element.ts";
import { Icon } from "./icon.tsx";
import { help, type Keyed } from "./keys_card.tsx";
import { type Shell } from "./shell.tsx";

interface Zoomed extends Keyed {
  readonly stage: Stage;
  readonly shell: Shell;
  /** The picture as a file; null while there is none. */
  svg(): string | null;
}

export function ZoomButtons({ view }: { view: Zoomed }) {
  const { stage, shell } = view;
  return (
    <div class="wb-group">
      <Button label="Zoom out (-)" onClick={() => stage.zoom(0.8)}>
        −
      </Button>
      <Button label="Zoom in (+)" onClick={() => stage.zoom(1.25)}>
        +
      </Button>
      <Button label="Fit the whole graph (f)" testid="fit" onClick={() => stage.fit()}>
        Fit
      </Button>
      <Button
        label="Save the picture as SVG (Shift + click: as PNG)"
        testid="save"
        onClick={(event) => download(view.svg(), "graph", event.shiftKey ? "png" : "svg")}
      >
        <Icon name="save" />
      </Button>
      <Button label="Full screen" onClick={() => shell.fullScreen()}>
        <Icon name="full" />
      </Button>
      <Button label="The list of keys (?)" onClick={() => help(view)}>
        ?
      </Button>
    </div>
  );
}

/** What browsers still make a canvas of. */
const LONGEST_SIDE = 16_000;
const MOST_PIXELS = 1.2e8;

/** Gives the browser a file to keep, made on the page. */
function download(svg: string | null, name: string, as: "svg" | "png" = "svg"): void {
  if (svg === null) return;
  const drawing = new Blob([svg], { type: "image/svg+xml" });
  if (as === "svg") keep(drawing, `${name}.svg`);
  else
    void pixels(drawing).then((image) => {
      if (image) keep(image, `${name}.png`);
    });
}

function keep(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  // The click only starts the download.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Two pixels for each of the screen's, fewer where the picture is too large for a canvas. */
async function pixels(drawing: Blob): Promise<Blob | null> {
  const image = new Image();
  image.src = URL.createObjectURL(drawing);
  await image.decode();
  URL.revokeObjectURL(image.src);
  const { naturalWidth: width, naturalHeight: height } = image;
  const ratio = Math.min(2, LONGEST_SIDE / Math.max(width, height), Math.sqrt(MOST_PIXELS / (width * height)));
  const canvas = element("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  contextOf(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
