/** How far down a picture is filled, over its width: what a thing put at some x must stay below. */
export class Skyline {
  /** Piece i reaches from edge[i] to edge[i + 1]. */
  private readonly edge = [-Infinity, Infinity];
  /** The lowest end of any box there, and of anything at all. */
  private readonly box = [-Infinity];
  private readonly all: number[];

  constructor(top: number) {
    this.all = [top];
  }

  /** The lowest end between two x: of boxes, and of anything. */
  below(x0: number, x1: number): { box: number; all: number } {
    let box = -Infinity,
      all = -Infinity;
    for (let i = this.pieceAt(x0); i < this.all.length && this.edge[i] < x1; i++) {
      box = Math.max(box, this.box[i]);
      all = Math.max(all, this.all[i]);
    }
    return { box, all };
  }

  put(x0: number, x1: number, bottom: number, isBox: boolean): void {
    if (x1 <= x0) return;
    const first = this.cut(x0),
      end = this.cut(x1);
    if (isBox) {
      this.edge.splice(first + 1, end - first - 1);
      this.all.splice(first, end - first, bottom);
      this.box.splice(first, end - first, bottom);
    } else this.all.fill(bottom, first, end);
  }

  /** Makes x an edge; the piece to its right. */
  private cut(x: number): number {
    const i = this.pieceAt(x);
    if (this.edge[i] === x) return i;
    this.edge.splice(i + 1, 0, x);
    this.box.splice(i + 1, 0, this.box[i]);
    this.all.splice(i + 1, 0, this.all[i]);
    return i + 1;
  }

  /** The piece that x is in; at an edge, the one to its right. */
  private pieceAt(x: number): number {
    let low = 0,
      high = this.all.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.edge[middle] <= x) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
