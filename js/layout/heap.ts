/** A binary min-heap of numbered things by key. */
export class MinHeap {
  private readonly keys: number[] = [];
  private readonly items: number[] = [];

  get size(): number {
    return this.items.length;
  }
  get leastKey(): number {
    return this.keys[0];
  }
  get leastItem(): number {
    return this.items[0];
  }

  push(item: number, key: number): void {
    let i = this.items.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.keys[parent] <= key) break;
      this.set(i, this.items[parent], this.keys[parent]);
      i = parent;
    }
    this.set(i, item, key);
  }

  /** Drops the least. */
  pop(): void {
    const item = this.items.pop()!,
      key = this.keys.pop()!,
      n = this.items.length;
    if (n === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && this.keys[child + 1] < this.keys[child]) child++;
      if (this.keys[child] >= key) break;
      this.set(i, this.items[child], this.keys[child]);
      i = child;
    }
    this.set(i, item, key);
  }

  private set(i: number, item: number, key: number): void {
    this.items[i] = item;
    this.keys[i] = key;
  }
}
