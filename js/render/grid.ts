/** Finds what is in a rectangle without looking at everything: boxes sorted into square cells. */
export class Grid {
  private readonly cell: number;
  private readonly columns: number;
  private readonly rows: number;
  private readonly offset: Uint32Array;
  private readonly list: Uint32Array;
  /** Boxes over so many cells that listing them everywhere would cost more than testing them each time. */
  private readonly large: number[] = [];
  private readonly seen: Uint32Array;
  private stamp = 0;

  constructor(private readonly boxes: Float32Array, width: number, height: number, mostCells = 24) {
    const count = boxes.length / 4;
    this.cell = Math.max(160, Math.sqrt((width * height) / Math.max(1, count)) || 160);
    this.columns = Math.max(1, Math.ceil(width / this.cell));
    this.rows = Math.max(1, Math.ceil(height / this.cell));
    const counts = new Uint32Array(this.columns * this.rows + 1);
    for (let i = 0; i < count; i++) {
      if (this.span(i) > mostCells) this.large.push(i);
      else this.each(i, (cell) => counts[cell + 1]++);
    }
    for (let c = 0; c + 1 < counts.length; c++) counts[c + 1] += counts[c];
    this.offset = counts;
    this.list = new Uint32Array(counts[counts.length - 1]);
    const next = counts.slice();
    for (let i = 0; i < count; i++) if (this.span(i) <= mostCells) this.each(i, (cell) => { this.list[next[cell]++] = i; });
    this.seen = new Uint32Array(count);
  }

  private column(x: number): number {
    return Math.min(this.columns - 1, Math.max(0, Math.floor(x / this.cell)));
  }

  private row(y: number): number {
    return Math.min(this.rows - 1, Math.max(0, Math.floor(y / this.cell)));
  }

  private span(i: number): number {
    const b = this.boxes;
    return (this.column(b[4 * i + 2]) - this.column(b[4 * i]) + 1) * (this.row(b[4 * i + 3]) - this.row(b[4 * i + 1]) + 1);
  }

  private each(i: number, visit: (cell: number) => void): void {
    const b = this.boxes;
    const right = this.column(b[4 * i + 2]);
    const bottom = this.row(b[4 * i + 3]);
    for (let r = this.row(b[4 * i + 1]); r <= bottom; r++) {
      for (let c = this.column(b[4 * i]); c <= right; c++) visit(r * this.columns + c);
    }
  }

  private touches(i: number, x0: number, y0: number, x1: number, y1: number): boolean {
    const b = this.boxes;
    return b[4 * i] <= x1 && b[4 * i + 2] >= x0 && b[4 * i + 1] <= y1 && b[4 * i + 3] >= y0;
  }

  /** Every box that touches the rectangle, each once. */
  query(x0: number, y0: number, x1: number, y1: number, visit: (i: number) => void): void {
    this.stamp++;
    for (const i of this.large) if (this.touches(i, x0, y0, x1, y1)) visit(i);
    const right = this.column(x1);
    const bottom = this.row(y1);
    for (let r = this.row(y0); r <= bottom; r++) {
      const from = this.offset[r * this.columns + this.column(x0)];
      const to = this.offset[r * this.columns + right + 1];
      for (let k = from; k < to; k++) {
        const i = this.list[k];
        if (this.seen[i] === this.stamp) continue;
        this.seen[i] = this.stamp;
        if (this.touches(i, x0, y0, x1, y1)) visit(i);
      }
    }
  }
}
