/**
 * The longest common subsequence by E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986):
 * fast where little differs, which is what a pass leaves behind.
 */

/** Pairs of places that are the same, rising on both sides. Beyond `most` edits nothing between the common ends is paired. */
export function common(n: number, m: number, same: (i: number, j: number) => boolean, most = 1500): [number, number][] {
  let head = 0;
  while (head < n && head < m && same(head, head)) head++;
  let tail = 0;
  while (tail < n - head && tail < m - head && same(n - 1 - tail, m - 1 - tail)) tail++;
  const pairs: [number, number][] = [];
  for (let i = 0; i < head; i++) pairs.push([i, i]);
  for (const [i, j] of middle(n - head - tail, m - head - tail, (i, j) => same(head + i, head + j), most))
    pairs.push([head + i, head + j]);
  for (let i = tail; i > 0; i--) pairs.push([n - i, m - i]);
  return pairs;
}

function middle(n: number, m: number, same: (i: number, j: number) => boolean, most: number): [number, number][] {
  if (n === 0 || m === 0) return [];
  const limit = Math.min(n + m, most);
  // reach[k]: how far the first text is read on diagonal k after d edits; every round is kept to walk back
  const reach = new Int32Array(2 * limit + 3);
  const at = (k: number) => k + limit + 1;
  const rounds: Int32Array[] = [];
  for (let d = 0; d <= limit; d++) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[at(k - 1)] < reach[at(k + 1)]);
      let i = down ? reach[at(k + 1)] : reach[at(k - 1)] + 1;
      while (i < n && i - k < m && i - k >= 0 && same(i, i - k)) i++;
      reach[at(k)] = i;
      if (i >= n && i - k >= m) {
        rounds.push(reach.slice(at(-d) - 1, at(d) + 2));
        return back(rounds, n, m);
      }
    }
    rounds.push(reach.slice(at(-d) - 1, at(d) + 2));
  }
  return [];
}

/** Walks from the end to the beginning along the furthest reaching paths and collects their diagonals. */
function back(rounds: Int32Array[], n: number, m: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [i, j] = [n, m];
  for (let d = rounds.length - 1; d >= 0; d--) {
    const k = i - j;
    const before = d > 0 ? rounds[d - 1] : null;
    const reached = (diagonal: number) => before![diagonal + d] ?? -1;
    const down = before !== null && (k === -d || (k !== d && reached(k - 1) < reached(k + 1)));
    const start = before === null ? 0 : down ? reached(k + 1) : reached(k - 1) + 1;
    while (i > start) pairs.push([--i, --j]);
    if (before === null) break;
    if (down) j--;
    else i--;
  }
  return pairs.reverse();
}
