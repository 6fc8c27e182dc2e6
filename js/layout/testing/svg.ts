/** A plain picture of a layout, for looking at. */
import type { LayoutInput, LayoutResult } from "../types";

export function toSvg(input: LayoutInput, result: LayoutResult, labels: string[]): string {
  const out: string[] = [];
  const w = Math.ceil(result.width + 20), h = Math.ceil(result.height + 20);
  out.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="-10 -10 ${w} ${h}"><rect x="-10" y="-10" width="${w}" height="${h}" fill="white"/>`);
  const depth = (g: number): number => { let d = 0; for (let p = g; p >= 0; p = input.groups.parent[p]) d++; return d; };
  const groups = [...input.groups.parent.keys()].sort((a, b) => depth(a) - depth(b));
  for (const g of groups) {
    const [x, y, bw, bh] = result.groupBox.subarray(4 * g, 4 * g + 4);
    out.push(`<rect x="${x}" y="${y}" width="${bw}" height="${bh}" rx="8" fill="#4477aa" fill-opacity="0.08" stroke="#4477aa" stroke-opacity="0.5"/>`);
  }
  for (let e = 0; e + 1 < result.edgeOffset.length; e++) {
    const points = result.edgePoints.subarray(2 * result.edgeOffset[e], 2 * result.edgeOffset[e + 1]);
    let path = "";
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = [points[i].toFixed(1), points[i + 1].toFixed(1)];
      if (i === 0) { path = `M${x} ${y}`; continue; }
      const middle = ((points[i - 1] + points[i + 1]) / 2).toFixed(1);
      path += points[i - 2] === points[i] ? ` L${x} ${y}` : ` C${points[i - 2].toFixed(1)} ${middle} ${x} ${middle} ${x} ${y}`;
    }
    const [x, y] = points.slice(-2);
    out.push(`<path d="${path}" fill="none" stroke="#555"/><path d="M${x - 3} ${y - 6} L${x} ${y} L${x + 3} ${y - 6}" fill="none" stroke="#555"/>`);
  }
  for (let i = 0; i < result.x.length; i++) {
    const nw = input.nodes.width[i], nh = input.nodes.height[i];
    out.push(`<rect x="${result.x[i] - nw / 2}" y="${result.y[i] - nh / 2}" width="${nw}" height="${nh}" rx="5" fill="#fff" stroke="#222"/>`);
    out.push(`<text x="${result.x[i]}" y="${result.y[i] + 4}" text-anchor="middle" font-family="sans-serif" font-size="11">${labels[i] ?? i}</text>`);
  }
  return out.join("\n") + "</svg>";
}
