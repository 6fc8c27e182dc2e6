/** The content of a panel as Python describes it (workbench/widgets/blocks.py). All texts are text. */
import {
  type Action,
  type Block,
  type Code,
  type Line,
  type Lines,
  type Paragraph,
  type Picture,
  type Table,
} from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { oneLine } from "../render/text.ts";
import { Breakable } from "./breakable.tsx";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { EntryField } from "./entry.tsx";
import { Linked, type Reveal } from "./linked.tsx";
import { roving } from "./roving.ts";

interface Context {
  /** None in a saved page: then only what needs no Python can be pressed. */
  send: Send | undefined;
  reveal?: Reveal;
}

interface BlocksProps extends Context {
  blocks: readonly Block[] | undefined;
  class?: string;
  testid?: string;
}

export function Blocks({ blocks = [], class: look = "", testid, ...context }: BlocksProps) {
  const keys = keysOf(blocks);
  return (
    <div class={`wb-blocks ${look}`} data-testid={testid}>
      {blocks.map((block, i) => (
        <One key={keys[i]} block={block} {...context} />
      ))}
    </div>
  );
}

/** By name, or by place among those of one type: a field keeps the focus and a slider its drag while others come and go. */
function keysOf(blocks: readonly Block[]): string[] {
  const counts = new Map<string, number>();
  return blocks.map((block) => {
    const name = "name" in block ? block.name : block.t === "act" ? `${block.act} ${block.arg}` : "";
    const kind = `${block.t} ${block.t === "in" ? block.kind : ""} ${name}`;
    const count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    return `${kind} ${count}`;
  });
}

function One({ block, ...context }: Context & { block: Block }) {
  switch (block.t) {
    case "h":
      return (
        <h4>
          <Linked text={block.text} links={block.links} limit={200} reveal={context.reveal} />
        </h4>
      );
    case "p":
      return <Words block={block} {...context} />;
    case "rows":
      return <List block={block} {...context} />;
    case "act":
      return <ActionButton block={block} {...context} />;
    case "in":
      return <EntryField block={block} send={context.send} />;
    case "code":
      return <CodeBlock block={block} />;
    case "table":
      return <Facts block={block} {...context} />;
    case "img":
      return <Plot block={block} />;
  }
}

function Words({ block, reveal }: Context & { block: Paragraph }) {
  return (
    <p
      class={`wb-said-${block.look || "plain"}`}
      role={block.look === "bad" ? "alert" : undefined}
      data-testid={block.name || undefined}
    >
      <Linked text={block.text} links={block.links} limit={2000} reveal={reveal} />
    </p>
  );
}

function List({ block, ...context }: Context & { block: Lines }) {
  return (
    <ul
      ref={roving}
      class="wb-links wb-rows-list"
      data-list={block.name || undefined}
      data-testid={block.name || undefined}
    >
      <Items rows={block.rows} {...context} />
    </ul>
  );
}

function Items({ rows, ...context }: Context & { rows: readonly Line[] }) {
  return (
    <>
      {rows.map((row, i) =>
        row.group ? (
          <Group key={row.text} row={row} {...context} />
        ) : (
          <Item key={row.arg || i} row={row} {...context} />
        ),
      )}
    </>
  );
}

/** Several lines behind one. */
function Group({ row, ...context }: Context & { row: Line }) {
  return (
    <li>
      {row.sign && <span class={`wb-sign wb-look-${row.look}`}>{row.sign}</span>}
      <details open={row.opened}>
        <summary>{oneLine(row.text, 400)}</summary>
        <ul class="wb-links wb-rows-list">
          <Items rows={row.group ?? []} {...context} />
        </ul>
      </details>
    </li>
  );
}

function Item({ row, send, reveal }: Context & { row: Line }) {
  const words = oneLine(row.text, 400);
  const marks = row.nodes.length > 0 || row.after !== undefined;
  const choose = () => {
    if (marks) reveal?.(row.nodes, row.after);
    if (row.act) send?.({ type: "act", what: row.act, arg: row.arg });
  };
  return (
    <li>
      {row.sign && <span class={`wb-sign wb-look-${row.look}`}>{row.sign}</span>}
      {marks || (row.act && send) ? (
        <button type="button" class="wb-link" onClick={choose}>
          {words}
        </button>
      ) : (
        <span>
          <Linked text={row.text} links={row.links} limit={400} reveal={reveal} />
        </span>
      )}
      {row.drop && send && (
        <Button
          label="Remove this edit"
          class="wb-button wb-small"
          onClick={() => send({ type: "act", what: "drop", arg: row.drop })}
        >
          ×
        </Button>
      )}
      {row.small && (
        <div class="wb-said-small">
          <Linked text={row.small} links={row.links} limit={600} reveal={reveal} />
        </div>
      )}
    </li>
  );
}

function ActionButton({ block, send, reveal }: Context & { block: Action }) {
  const press = ({ currentTarget }: Event) => {
    const field = currentTarget instanceof Element ? currentTarget.parentElement?.querySelector("input") : null;
    send?.({ type: "act", what: block.act, arg: field ? field.value : block.arg });
  };
  const off = block.off !== "" || !send;
  return (
    <div class="wb-action">
      <Button
        label={block.off || block.title || block.label}
        class="wb-button wb-primary"
        testid={`act-${block.act}`}
        disabled={off}
        onClick={press}
      >
        {block.label}
      </Button>
      {block.field !== undefined && (
        <input
          class="wb-input"
          placeholder="Name"
          aria-label="Name"
          maxLength={80}
          defaultValue={block.field}
          onKeyDown={(event) => event.key === "Enter" && press(event)}
          disabled={off}
          data-testid={`${block.act}-name`}
        />
      )}
      {/* A disabled button has no focus and shows no tooltip to a keyboard. */}
      {block.off && block.label.length > 1 && (
        <span class="wb-said-small">
          <Linked text={block.off} links={block.links} limit={600} reveal={reveal} />
        </span>
      )}
    </div>
  );
}

export function CodeBlock({ block }: { block: Code }) {
  return (
    <div class="wb-code-block">
      <CopyButton text={block.text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: text that scrolls needs the keyboard */}
      <pre class="wb-code" tabIndex={0} data-testid={block.name || undefined}>
        {block.text}
      </pre>
    </div>
  );
}

function Facts({ block, send }: Context & { block: Table }) {
  const [head = [], ...lines] = block.rows;
  const act = (what: string, arg: string) => what !== "" && send && (() => send({ type: "act", what, arg }));
  const order = (column: number) =>
    block.sort === "" ? undefined : column !== block.sorted ? "none" : block.down ? "descending" : "ascending";
  return (
    <table ref={roving} class="wb-facts-table" data-testid={block.name || undefined}>
      <thead>
        <tr>
          {head.map((text, j) => (
            <th key={j} scope="col" title={block.hints?.[j] || text} aria-sort={order(j)}>
              <Face text={text} press={act(block.sort, String(j))} />
            </th>
          ))}
          {block.button && <td />}
        </tr>
      </thead>
      <tbody>
        {lines.map((line, i) => (
          // Preact takes 1 and "1" for the same key.
          <TableLine key={block.args[i] || `line ${i}`} {...{ block, line, place: i, columns: head.length, act }} />
        ))}
      </tbody>
    </table>
  );
}

interface TableLineProps {
  block: Table;
  line: readonly string[];
  place: number;
  columns: number;
  act: (what: string, arg: string) => (() => void) | false | undefined;
}

function TableLine({ block, line, place, columns, act }: TableLineProps) {
  const [first = "", ...others] = line;
  const arg = block.args[place] ?? String(place);
  const [words, what] = (arg && block.button) || [];
  const all = block.button && !words ? columns + 1 : columns;
  const cell = (text: string, j: number) => ({
    title: text,
    colSpan: j === line.length - 1 ? all - j : 1,
    ...(text.startsWith("! ") && { class: "wb-mark-removed" }),
  });
  return (
    <tr class={block.marked.includes(place) ? "wb-current" : ""} data-testid={block.name && `${block.name}-${place}`}>
      <th scope="row" {...cell(first, 0)} title={block.tips?.[place] || first}>
        <Face
          text={first}
          press={arg !== "" && act(block.act, arg)}
          testid={`${block.act}-${arg}`}
          open={block.opened?.includes(arg)}
        />
      </th>
      {others.map((text, j) => (
        <td key={j} {...cell(text, j + 1)}>
          <span>{oneLine(text, 2000)}</span>
          {block.bars?.column === j + 1 && <Bar span={block.bars.spans[place] ?? []} />}
        </td>
      ))}
      {words && what && (
        <td>
          <Button
            label={`${words} ${first}`}
            testid={`${what}-${arg}`}
            disabled={!act(what, arg)}
            onClick={act(what, arg) || undefined}
          >
            {words}
          </Button>
        </td>
      )}
    </tr>
  );
}

interface FaceProps {
  text: string;
  press: (() => void) | false | undefined;
  testid?: string;
  /** Whether its details are open; undefined where it has none. */
  open?: boolean | undefined;
}

function Face({ text, press, testid, open }: FaceProps) {
  const words = <Breakable name={oneLine(text, 2000)} />;
  if (!press) return words;
  return (
    <button type="button" class="wb-link" aria-expanded={open} data-testid={testid} onClick={press}>
      {words}
    </button>
  );
}

/** A bar up to the median, with the quartiles as a whisker. */
function Bar({ span: [low, middle, high] }: { span: readonly number[] }) {
  if (low === undefined || middle === undefined || high === undefined) return null;
  const percent = (share: number) => `${Math.max(0, Math.min(100, share * 100))}%`;
  return (
    <span class="wb-bar-track" aria-hidden="true">
      <span class="wb-bar-fill" style={`width: ${percent(middle)}`} />
      <span class="wb-whisker" style={`left: ${percent(low)}; width: calc(${percent(high)} - ${percent(low)})`} />
    </span>
  );
}

/** As images, drawings can neither run a script nor load anything. */
function Plot({ block }: { block: Picture }) {
  return (
    <div data-testid={block.name || undefined}>
      {block.svg.map((svg, dark) => (
        <img
          key={dark}
          class={`wb-plot wb-on-${dark ? "dark" : "light"}`}
          alt={block.text}
          src={`data:image/svg+xml,${encodeURIComponent(svg)}`}
        />
      ))}
    </div>
  );
}
