/** A layout that failed, in words, where the graph would be; with a report to copy that holds nothing of the graph. */
import { type Stage } from "../render/stage.ts";
import { counted } from "../text/counted.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { stageSignals } from "./stage_signals.ts";

export function LayoutFailure({ stage }: { stage: Stage }) {
  const error = stageSignals(stage).failed.value;
  if (!error) return null;
  return (
    <div class="wb-layout-failure" role="alert" data-testid="layout-failure">
      <div class="wb-strong">This graph cannot be arranged.</div>
      <p>
        This is an error of tvm-workbench, not of your model. Its report holds the error, sizes and versions, and
        nothing of the graph: no names, no types, no attributes.
      </p>
      <p class="wb-dim">{error.message.slice(0, 300)}</p>
      <div class="wb-group">
        <CopyButton label="Copy the report" testid="copy-report" text={() => report(stage, error)} />
        <Button label="Arrange the graph again" testid="arrange-again" onClick={() => void stage.setOptions({})}>
          Try again
        </Button>
      </div>
    </div>
  );
}

/** Sizes, versions and the error, as text. */
export function report(stage: Stage, error: Error): string {
  const { picture, options, direction, changedOnly, scene } = stage;
  const { groups } = picture;
  return [
    "tvm-workbench: a graph could not be arranged",
    `version: ${WORKBENCH_VERSION}`,
    `error: ${error.name}: ${error.message}`,
    `graph: ${counted(picture.nodeCount, "node")}, ${counted(picture.edgeCount, "edge")}, ${counted(groups.count, "group")}, ${picture.compares ? "a comparison" : "one graph"}`,
    `view: ${counted(options.collapsed.size, "closed group")}, ${direction}, constants ${options.showConstants}, tuples ${options.showTuples}, changed only ${changedOnly}`,
    `drawn before: ${scene ? counted(scene.visible.count, "item") : "nothing"}`,
    `browser: ${navigator.userAgent}`,
    `stack: ${error.stack ?? "none"}`,
  ].join("\n");
}
