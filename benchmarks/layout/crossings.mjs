// Counts crossings in any engine's drawing, from the polylines alone: every point where two edges that share no
// end properly intersect. Edges of one producer are never counted against each other, so bundling gains nothing.

/** @param {{source: ArrayLike<number>, target: ArrayLike<number>}} edges  @param {number[][]} lines flat x, y per edge */
export function countCrossings(edges, lines) {
  const segments = [];
  let top = Infinity, bottom = -Infinity;
  lines.forEach((line, edge) => {
    for (let i = 0; i + 3 < line.length; i += 2) {
      const [x0, y0, x1, y1] = [line[i], line[i + 1], line[i + 2], line[i + 3]];
      if (x0 === x1 && y0 === y1) continue;
      segments.push(y0 <= y1 ? { edge, x0, y0, x1, y1 } : { edge, x0: x1, y0: y1, x1: x0, y1: y0 });
      top = Math.min(top, y0, y1);
      bottom = Math.max(bottom, y0, y1);
    }
  });
  // A sweep from the top: a segment meets only those that are still open where it begins.
  segments.sort((a, b) => a.y0 - b.y0);
  let crossings = 0, open = [];
  for (const s of segments) {
    open = open.filter((o) => o.y1 >= s.y0);
    for (const o of open) {
      if (Math.min(o.x0, o.x1) > Math.max(s.x0, s.x1) || Math.max(o.x0, o.x1) < Math.min(s.x0, s.x1)) continue;
      if (shareEnd(edges, o.edge, s.edge)) continue;
      if (properlyIntersect(o, s)) crossings++;
    }
    open.push(s);
  }
  return crossings;
}

function shareEnd({ source, target }, a, b) {
  return source[a] === source[b] || target[a] === target[b] || source[a] === target[b] || target[a] === source[b];
}

/** Half-open at the lower end, so that a crossing at a bend of one edge counts once. */
function properlyIntersect(a, b) {
  const d = (a.x1 - a.x0) * (b.y1 - b.y0) - (a.y1 - a.y0) * (b.x1 - b.x0);
  if (Math.abs(d) < 1e-9) return false;
  const t = ((b.x0 - a.x0) * (b.y1 - b.y0) - (b.y0 - a.y0) * (b.x1 - b.x0)) / d;
  const u = ((b.x0 - a.x0) * (a.y1 - a.y0) - (b.y0 - a.y0) * (a.x1 - a.x0)) / d;
  return t >= 0 && t < 1 && u >= 0 && u < 1;
}
