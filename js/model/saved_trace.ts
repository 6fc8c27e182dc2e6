/**
 * The answers to a stepper's requests in the file of a saved page: the messages that Python would send, which
 * workbench/widgets/stepper/saved_trace.py packed in chunks.
 */
import { fromBase64 } from "../graph/payload.ts";
import { type SavedTrace as Packed, type Place, type ToPage } from "./messages.ts";
import { Recent } from "./recent.ts";

/** Characters of the unpacked chunks that are kept, as they are in the file. */
const KEPT = 8_000_000;

type Chunk = Readonly<Record<string, unknown>>;
type Wish = readonly (string | number)[];

export class SavedTrace {
  private readonly chunks = new Recent<Promise<Chunk>>(KEPT);

  constructor(private readonly packed: Packed) {}

  async answer(wish: Wish): Promise<ToPage> {
    try {
      const found = wish[0] === "lineage" ? await this.lineage(wish) : await this.read(wish.join());
      return (found as ToPage | undefined) ?? this.absent(wish);
    } catch {
      return lost(wish, "This part of the page is damaged: save it again.");
    }
  }

  /** Nodes that have one history share it. */
  private async lineage([, state, node]: Wish): Promise<ToPage | undefined> {
    const numbers = (await this.read(`lineages,${state}`)) as number[] | undefined;
    const number = numbers?.[Number(node)];
    const places = number === undefined ? undefined : ((await this.read(`lineage,${number}`)) as Place[] | undefined);
    return places && { type: "lineage", state: Number(state), node: Number(node), places };
  }

  private async read(key: string): Promise<unknown> {
    const place = this.packed.places[key];
    const chunk = place === undefined ? undefined : this.packed.chunks[place];
    if (place === undefined || chunk === undefined) return undefined;
    const known = this.chunks.get(String(place)) ?? unzipped(chunk).then((text) => JSON.parse(text) as Chunk);
    this.chunks.set(String(place), known, chunk.length);
    return (await known)[key];
  }

  private absent(wish: Wish): ToPage {
    return lost(wish, this.packed.absent[String(wish[0])] ?? "This saved page does not have it.");
  }
}

function lost(wish: Wish, text: string): ToPage {
  return { type: "lost", wish: [...wish], text };
}

/** Text that was packed with gzip and base64. */
export async function unzipped(text: string): Promise<string> {
  return new Response(new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
