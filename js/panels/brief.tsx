/** The selection in one line at the foot of the graph: for a page without an inspector, and for screen readers. */
import { Button } from "../components/button.tsx";
import { press } from "../components/keys_card.tsx";
import { stageSignals } from "../components/stage_signals.ts";
import { chosenAttributes, compactType, groupName, opName } from "../graph/labels.ts";
import { GROUP_KINDS, textOf } from "../graph/payload.ts";
import { groupsOf, MARKS, type Picture, placeOf } from "../graph/picture.ts";
import { GroupKind } from "../model/messages.ts";
import { GRAPH_KEYS } from "../pane/graph_keys.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { counted } from "../text/counted.ts";

/** In an overlay, and with two graphs side by side, the flow on either side counts. */
const EITHER = 3;

/** Keys of the graph that have a button. */
const TOOLS = [
  ["select-up", "[", "↑ up"],
  ["select-down", "]", "↓ down"],
  ["select-around", "e", "+1 around"],
  ["select-paths", "p", "paths"],
  ["select-zoom", "s", "zoom"],
] as const;

interface BriefProps {
  stage: Stage;
  /** The words for MARKS. */
  markNames?: readonly string[];
}

export function Brief({ stage, markNames = MARKS }: BriefProps) {
  const { picture, selection } = stageSignals(stage);
  const words = describeSelection(picture.value, selection.value, markNames);
  return (
    <div class="wb-brief" hidden={words === ""}>
      <span class="wb-brief-words" role="status" aria-live="polite" data-testid="brief">
        {words}
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend */}
      <span class="wb-brief-tools" role="group" aria-label="Select more">
        {TOOLS.map(([name, key, face]) => (
          <Button
            key={key}
            class="wb-button wb-small"
            testid={name}
            label={`${wordsOf(key)} (${key})`}
            hidden={key === "p" && selection.value.length < 2}
            onClick={() => press(GRAPH_KEYS, { key }, { stage, sides: EITHER, minimap: null })}
          >
            {face}
          </Button>
        ))}
      </span>
    </div>
  );
}

function wordsOf(key: string): string {
  return GRAPH_KEYS.find(({ act }) => act?.[key])?.does ?? "";
}

export function describeSelection(
  picture: Picture,
  nodes: readonly number[],
  markNames: readonly string[] = MARKS,
): string {
  const [u] = nodes;
  if (u === undefined) return "";
  if (nodes.length > 1) return `${counted(nodes.length, "node")} selected`;
  const { graph, id: v } = placeOf(picture, u, 1);
  const type = compactType(textOf(graph, "type", v));
  const mark = Math.max(picture.mark[0][u] ?? 0, picture.mark[1][u] ?? 0);
  const [box] = groupsOf(picture, u);
  const parts = [
    opName(textOf(graph, "label", v)) || "(no name)",
    type,
    chosenAttributes(textOf(graph, "attrs", v), type),
    inGroup(picture, box),
    picture.compares && mark > 0 ? (markNames[mark] ?? "") : "",
  ];
  return parts
    .filter(Boolean)
    .map((part) => oneLine(part, 120))
    .join("  ·  ");
}

function inGroup({ groups }: Picture, box: number | undefined): string {
  if (box === undefined || groups.kind[box] === GroupKind.function) return "";
  const kernel = GROUP_KINDS[groups.kind[box] ?? 0] === "primitive" ? "kernel " : "";
  return `in ${kernel}${groupName(groups.name[box] ?? "")}`;
}
