/** Asks the worker for places; a question that a newer one overtook is answered with null. */
import { LayoutClient, Superseded, type LayoutInput, type LayoutResult } from "../layout/index.ts";

/** One worker for all widgets of a page: they rarely lay out at once, and each worker costs some memory. */
let shared: LayoutClient | null = null;
let count = 0;

export class Arranger {
  private readonly channel = `stage ${++count}`;
  private disposed = false;

  constructor() {
    shared ??= new LayoutClient();
    shared.warm();
  }

  async run(input: LayoutInput): Promise<LayoutResult | null> {
    shared ??= new LayoutClient();
    try {
      const result = await shared.run(input, { channel: this.channel });
      return this.disposed ? null : result;
    } catch (error) {
      if (error instanceof Superseded) return null;
      throw error;
    }
  }

  dispose(): void {
    this.disposed = true;
  }
}
