/** Draws a frame: boxes of groups, then edges, then nodes, so that nothing a person reads is crossed by a line. */
import { paintEdgeLabels } from "./edge_labels.ts";
import { detail, type Frame, worldWindow } from "./frame.ts";
import { paintEdges } from "./paint_edges.ts";
import { paintGroups, paintHeaders } from "./paint_groups.ts";
import { paintNodes } from "./paint_nodes.ts";
import { paintSigns, paintWash } from "./paint_notes.ts";
import { type Pen } from "./pen.ts";

export function paint(context: Pen, ratio: number, frame: Frame): void {
  const { view, theme } = frame;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, view.width, view.height);
  const [x0, y0, x1, y1] = worldWindow(frame);
  const items: number[] = [];
  frame.scene.items.query(x0, y0, x1, y1, (i) => {
    if (frame.scene.visible.side[i] & frame.sides) items.push(i);
  });
  // Cells come in the order of the grid; the order on the page must not depend on it.
  if (items.length < 5000) items.sort((a, b) => a - b);
  const level = detail(frame.camera.scale);
  paintGroups(context, frame);
  paintWash(context, frame);
  paintEdges(context, frame, level, [x0, y0, x1, y1]);
  paintHeaders(context, frame, level);
  paintNodes(context, frame, level, items);
  paintEdgeLabels(context, frame, level);
  paintSigns(context, frame);
}
