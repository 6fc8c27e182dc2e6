/** Queries that look at all boxes. */
const SCANS = 3;

/** Finds what is in a rectangle without looking at everything: boxes sorted into square cells. */
export class Grid {
  private readonly cell: number;
  private readonly columns: number;
  private readonly rows: number;
  private cells: Cells | null = null;
  private asked = 0;
  private readonly seen: Uint32Array;
  private stamp = 0;

  constructor(
    private readonly boxes: Float32Array,
    width: number,
    height: number,
    private readonly mostCells = 24,
  ) {
    const count = boxes.length / 4;
    this.cell = Math.max(160, Math.sqrt((width * height) / Math.max(1, count)) || 160);
    this.columns = Math.max(1, Math.ceil(width / this.cell));
    this.rows = Math.max(1, Math.ceil(height / this.cell));
    this.seen = new Uint32Array(count);
  }

  private sort(): Cells {
    const count = this.seen.length;
    const counts = new Uint32Array(this.columns * this.rows + 1);
    const large: number[] = [];
    for (let i = 0; i < count; i++) {
      if (this.span(i) > this.mostCells) large.push(i);
      else this.each(i, counts, null);
    }
    for (let c = 0; c + 1 < counts.length; c++) counts[c + 1] += counts[c];
    const list = new Uint32Array(counts[counts.length - 1]);
    const next = counts.slice();
    for (let i = 0; i < count; i++) if (this.span(i) <= this.mostCells) this.each(i, next, list);
    return { offset: counts, list, large };
  }

  private column(x: number): number {
    return Math.min(this.columns - 1, Math.max(0, Math.floor(x / this.cell)));
  }

  private row(y: number): number {
    return Math.min(this.rows - 1, Math.max(0, Math.floor(y / this.cell)));
  }

  private span(i: number): number {
    const b = this.boxes;
    return (
      (this.column(b[4 * i + 2]) - this.column(b[4 * i]) + 1) * (this.row(b[4 * i + 3]) - this.row(b[4 * i + 1]) + 1)
    );
  }

  /** Counts a box in each of its cells, or puts it where the cell's next free place is. */
  private each(i: number, places: Uint32Array, list: Uint32Array | null): void {
    const b = this.boxes;
    const left = this.column(b[4 * i]);
    const right = this.column(b[4 * i + 2]);
    const bottom = this.row(b[4 * i + 3]);
    for (let r = this.row(b[4 * i + 1]); r <= bottom; r++) {
      for (let c = r * this.columns + left; c <= r * this.columns + right; c++) {
        if (list) list[places[c]++] = i;
        else places[c + 1]++;
      }
    }
  }

  private touches(i: number, x0: number, y0: number, x1: number, y1: number): boolean {
    const b = this.boxes;
    return b[4 * i] <= x1 && b[4 * i + 2] >= x0 && b[4 * i + 1] <= y1 && b[4 * i + 3] >= y0;
  }

  /** Every box that touches the rectangle, each once. */
  query(x0: number, y0: number, x1: number, y1: number, visit: (i: number) => void): void {
    // Looking at all boxes a few times is quicker than sorting them, and the first frame asks once for each pane.
    if (this.asked < SCANS) {
      this.asked++;
      for (let i = 0; i < this.seen.length; i++) if (this.touches(i, x0, y0, x1, y1)) visit(i);
      return;
    }
    this.cells ??= this.sort();
    const { offset, list, large } = this.cells;
    this.stamp++;
    for (const i of large) if (this.touches(i, x0, y0, x1, y1)) visit(i);
    const right = this.column(x1);
    const bottom = this.row(y1);
    for (let r = this.row(y0); r <= bottom; r++) {
      const from = offset[r * this.columns + this.column(x0)];
      const to = offset[r * this.columns + right + 1];
      for (let k = from; k < to; k++) {
        const i = list[k];
        if (this.seen[i] === this.stamp) continue;
        this.seen[i] = this.stamp;
        if (this.touches(i, x0, y0, x1, y1)) visit(i);
      }
    }
  }
}

interface Cells {
  offset: Uint32Array;
  list: Uint32Array;
  /** Boxes over so many cells that listing them everywhere would cost more than testing them each time. */
  large: number[];
}
