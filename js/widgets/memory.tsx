/** A memory plan, or two: the sizes in words, the charts, and the selection that it shares with views of graphs. */
import { Button } from "../components/button.tsx";
import { open } from "../components/shell.tsx";
import { type Model } from "../model/model.ts";
import { MemoryBoard } from "../pane/memory_pane.ts";
import { Memory } from "../panels/memory.tsx";

const HEIGHT = 420;

export function memory(model: Model, el: HTMLElement): () => void {
  const { shell, traits, send } = open(model, el, "memory");
  const board = new MemoryBoard(traits);
  const Page = () => (
    <>
      <div class="wb-bar">
        <span class="wb-memory-words" data-testid="memory-headline">
          {traits.get("headline").value}
        </span>
        <Button label="Show all kernels (f)" testid="fit" onClick={() => board.setWindow(null)}>
          Fit
        </Button>
      </div>
      <Memory
        {...{ board, shell, send }}
        height={traits.get("height").value ?? HEIGHT}
        lists={traits.get("blocks").value ?? []}
      />
    </>
  );
  shell.render(<Page />);
  return () => shell.dispose();
}
