/** Draws a frame: boxes of groups, then edges, then nodes, so that nothing a person reads is crossed by a line. */
import { paintEdgeLabels } from "./edge_labels.ts";
import { detail, type Frame, worldWindow } from "./frame.ts";
import { paintEdges } from "./paint_edges.ts";
import { paintGroups, paintHeaders } from "./paint_groups.ts";
import { paintNodes } from "./paint_nodes.ts";
import { paintSigns, paintWash } from "./paint_notes.ts";
import { type Pen } from "./pen.ts";
import { itemsIn } from "./scene.ts";

export function paint(context: Pen, ratio: number, frame: Frame): void {
  const { view, theme } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, view.width, view.height);
  const area = worldWindow(frame);
  const items = itemsIn(frame.scene, frame.sides, area);
  // Cells come in the order of the grid; the order on the page must not depend on it.
  if (items.length < 5000) items.sort((a, b) => a - b);
  const level = detail(frame.camera.scale);
  paintGroups(context, frame);
  paintWash(context, frame);
  paintEdges(context, frame, level, area);
  paintHeaders(context, frame, level);
  paintNodes(context, frame, level, items);
  paintEdgeLabels(context, frame, level);
  paintSigns(context, frame);
}
