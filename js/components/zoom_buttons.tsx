/** Zoom, fit, save, full screen, the list of keys: at the end of every graph's bar. */

import { type Stage } from "../render/stage.ts";
import { Button } from "./button.tsx";
import { download } from "./download.ts";
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
