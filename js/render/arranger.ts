/** Asks the workers for places; a question that a newer one overtook is answered with null. */
import { LayoutClient, Superseded } from "../layout/client.ts";
import { type LayoutInput, type LayoutResult } from "../layout/types.ts";

/** A cell that runs again ends its view and makes another: that one has the warm worker. */
const LINGER_MS = 1000;

/** One client for all widgets of a page: they rarely lay out at once, and each worker costs some memory. */
let shared: LayoutClient | null = null;
let users = 0;
let count = 0;

export class Arranger {
  private readonly channel = `stage ${++count}`;
  private disposed = false;
  private readonly client: LayoutClient;

  constructor() {
    shared ??= new LayoutClient();
    this.client = shared;
    this.client.warm();
    users++;
  }

  async run(input: LayoutInput): Promise<LayoutResult | null> {
    if (this.disposed) return null;
    try {
      const result = await this.client.run(input, { channel: this.channel });
      return this.disposed ? null : result;
    } catch (error) {
      if (error instanceof Superseded) return null;
      throw error;
    }
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.client.drop(this.channel);
    users--;
    if (users === 0) setTimeout(endUnused, LINGER_MS);
  }
}

function endUnused(): void {
  if (users > 0) return;
  shared?.dispose();
  shared = null;
}
