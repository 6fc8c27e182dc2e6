/** What a box has no room for: the whole name, type and attributes, in words, as plain text. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { attributes, compactType, groupName } from "../graph/labels.ts";
import { GROUP_KINDS, textOf } from "../graph/payload.ts";
import { placeOf } from "../graph/picture.ts";
import { type Size } from "../render/camera.ts";
import { edgeText } from "../render/edge_labels.ts";
import { type Frame, markOf } from "../render/frame.ts";
import { type Hit, NOTHING } from "../render/hit.ts";
import { oneLine } from "../render/text.ts";
import { counted } from "../text/counted.ts";

const DELAY_MS = 280;
const GAP = 14;
const MOST_ATTRIBUTES = 10;

export interface Shown {
  lines: readonly string[];
  x: number;
  y: number;
  view: Size;
}

/** The text and its place: it comes after a pause over one thing, and then follows the pointer. */
export class Tooltip {
  readonly shown = signal<Shown | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private over: Hit = NOTHING;

  show(frame: Frame, found: Hit, { x, y }: { x: number; y: number }): void {
    const lines = describe(frame, found);
    if (lines.length === 0) return this.hide();
    const next = { lines, x, y, view: frame.view };
    if (this.shown.value && same(found, this.over)) {
      this.shown.value = next;
      return;
    }
    this.hide();
    this.over = found;
    this.timer = setTimeout(() => {
      this.shown.value = next;
    }, DELAY_MS);
  }

  hide(): void {
    clearTimeout(this.timer);
    this.shown.value = null;
  }
}

function same(a: Hit, b: Hit): boolean {
  return a.item === b.item && a.badge === b.badge && a.group === b.group && a.edge === b.edge;
}

export function TooltipCard({ tooltip }: { tooltip: Pick<Tooltip, "shown"> }) {
  const card = useRef<HTMLDivElement>(null);
  const shown = tooltip.shown.value;
  useLayoutEffect(() => {
    if (!card.current || !shown) return;
    const { offsetWidth, offsetHeight } = card.current;
    const left = beside(shown.x, offsetWidth, shown.view.width);
    const top = beside(shown.y, offsetHeight, shown.view.height);
    card.current.style.transform = `translate(${left}px, ${top}px)`;
  }, [shown]);
  return (
    <div ref={card} class="wb-tooltip" role="tooltip" hidden={!shown}>
      {shown?.lines.map((line, i) => (
        <div key={i} class={i === 0 ? "wb-strong" : "wb-dim"}>
          {line}
        </div>
      ))}
    </div>
  );
}

/** After the pointer, or before it at the edge of the pane. */
function beside(at: number, length: number, room: number): number {
  return Math.round(at + GAP + length > room ? Math.max(4, at - length - GAP) : at + GAP);
}

const WORDS = [
  "",
  "changed by this pass",
  "removed by this pass",
  "added by this pass",
  "merged with others",
  "split into several",
];

function describe(frame: Frame, found: Hit): string[] {
  const { visible } = frame.scene;
  const { picture } = visible;
  if (found.badge >= 0) return nodeLines(frame, found.badge);
  const node = visible.node[found.item] ?? -1;
  if (node >= 0) return [...nodeLines(frame, node), WORDS[markOf(frame, found.item)] ?? ""].filter(Boolean);
  if (found.group >= 0) {
    const { groups } = picture;
    const kind = GROUP_KINDS[groups.kind[found.group] ?? -1] ?? "group";
    const words = kind === "primitive" ? "one kernel" : kind;
    return [
      groupName(groups.name[found.group] ?? ""),
      `${words}: double-click to ${found.item >= 0 ? "open" : "close"}`,
    ];
  }
  return found.edge >= 0 ? [edgeText(frame, found.edge)] : [];
}

function nodeLines(frame: Frame, u: number): string[] {
  const { picture } = frame.scene.visible;
  const { graph, id: v } = placeOf(picture, u, frame.textSide);
  const lines = [oneLine(textOf(graph, "label", v)), oneLine(compactType(textOf(graph, "type", v)))];
  const attrs = attributes(textOf(graph, "attrs", v));
  for (const [key, value] of attrs.slice(0, MOST_ATTRIBUTES)) lines.push(oneLine(`${key}: ${value}`, 160));
  if (attrs.length > MOST_ATTRIBUTES) lines.push(`and ${counted(attrs.length - MOST_ATTRIBUTES, "more attribute")}`);
  const name = textOf(graph, "name", v);
  if (name && name !== lines[0]) lines.push(oneLine(name, 160));
  return lines.filter((line) => line !== "");
}
