/** Values by key, of which those that were longest not in use are forgotten beyond a total weight. */

/** These stay whatever they weigh: the two graphs on the screen and the two of the next step. */
const LEAST = 4;

export class Recent<Value> {
  private readonly entries = new Map<string, { value: Value; weight: number }>();
  private total = 0;

  constructor(private readonly limit: number) {}

  has(key: string): boolean {
    return this.entries.has(key);
  }

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: Value, weight: number): void {
    this.total -= this.entries.get(key)?.weight ?? 0;
    this.entries.delete(key);
    this.entries.set(key, { value, weight });
    this.total += weight;
    for (const [oldest, entry] of this.entries) {
      if (this.total <= this.limit || this.entries.size <= LEAST) break;
      this.entries.delete(oldest);
      this.total -= entry.weight;
    }
  }
}
