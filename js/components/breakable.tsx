/** A name, or several, that a line may break between its words: Eliminate|Common|Subexpr, relax.|Fuse|Ops.|max_|depth. */
import { Fragment } from "preact";

export function Breakable({ name }: { name: string }) {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[.,_{])/);
  return (
    <>
      {words.map((word, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {word}
        </Fragment>
      ))}
    </>
  );
}
