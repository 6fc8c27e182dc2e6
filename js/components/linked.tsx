/** A text of Python in which "node 7" is a link to the node. */
import { type Block, type Line } from "../model/messages.ts";
import { oneLine } from "../render/text.ts";

/** Brings nodes into view and selects them; in a view of two graphs, those of each. */
export type Reveal = (nodes: number[], after?: number[]) => void;

type Links = readonly [words: string, node: number][];

interface LinkedProps {
  text: string;
  links: Links | undefined;
  limit: number;
  reveal: Reveal | undefined;
}

export function Linked({ text, links = [], limit, reveal }: LinkedProps) {
  const line = oneLine(text, limit);
  if (!reveal || links.length === 0) return <>{line}</>;
  return (
    <>
      {split(line, links).map(({ words, node }, i) =>
        node === null ? (
          words
        ) : (
          <button
            key={i}
            type="button"
            class="wb-link wb-node-link"
            title={`Show node ${node} on the graph`}
            onClick={() => reveal([node])}
          >
            {words}
          </button>
        ),
      )}
    </>
  );
}

/** The parts of a text: words, and words that name a node. The links are in the text's order; some may be of another text. */
function split(text: string, links: Links): { words: string; node: number | null }[] {
  const parts: { words: string; node: number | null }[] = [];
  let from = 0;
  for (const [words, node] of links) {
    const at = text.indexOf(words, from);
    const end = at + words.length;
    if (at < 0 || /\d/.test(text.charAt(end))) continue;
    parts.push({ words: text.slice(from, at), node: null }, { words, node });
    from = end;
  }
  return [...parts, { words: text.slice(from), node: null }];
}

/** The nodes that the texts of blocks name; those of closed groups are not in sight. */
export function linkedNodes(blocks: readonly Block[] = []): number[] {
  const ofLine = (line: Line): Links => [...(line.links ?? []), ...((line.opened && line.group) || []).flatMap(ofLine)];
  const links = blocks.flatMap((block): Links => {
    if (block.t === "rows") return block.rows.flatMap(ofLine);
    return "links" in block ? (block.links ?? []) : [];
  });
  return [...new Set(links.map(([, node]) => node))];
}
