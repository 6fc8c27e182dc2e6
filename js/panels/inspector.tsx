/** The selected node in words: what it is, its inputs and users, its kernel, and what the pass did to it. */
import { type ComponentChildren, type RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { focusRow, roving } from "../components/roving.ts";
import { stageSignals } from "../components/stage_signals.ts";
import { attributes, bytes, compactType, groupName, opName } from "../graph/labels.ts";
import { GROUP_KINDS, KINDS, textOf } from "../graph/payload.ts";
import { groupsOf, MARKS, type Picture, placeOf } from "../graph/picture.ts";
import { Kind, PATTERNS } from "../model/messages.ts";
import { type Stage } from "../render/stage.ts";
import { oneLine } from "../render/text.ts";
import { counted, formatBytes } from "../text/counted.ts";

/** Rows of a list before its button, and those that a click on it adds. */
const FIRST = 40;
const MORE = 100;
/** Kinds of operator that a selection of many nodes lists. */
const MOST_KINDS = 30;

const SENTENCE = [
  "",
  "This pass changed it.",
  "This pass removed it.",
  "This pass added it.",
  "Several became this one.",
  "This one became several.",
];

export function Inspector({ stage }: { stage: Stage }) {
  const { picture, selection } = stageSignals(stage);
  const [first] = selection.value;
  const root = useKeptFocus();
  return (
    <div ref={root} class="wb-panel-body wb-inspector" tabIndex={-1} data-testid="inspector">
      {first === undefined ? (
        <p class="wb-dim">Click a node to see its type, attributes and kernel. Press ? in the graph for the keys.</p>
      ) : selection.value.length === 1 ? (
        <OneNode stage={stage} picture={picture.value} node={first} />
      ) : (
        <Several picture={picture.value} nodes={selection.value} />
      )}
    </div>
  );
}

/** The element that keeps the focus when the focused control in it goes: its first control has it then, or itself. */
function useKeptFocus(): RefObject<HTMLDivElement | null> {
  const root = useRef<HTMLDivElement>(null);
  const held = hasFocus(root.current);
  useLayoutEffect(() => {
    if (!held || hasFocus(root.current)) return;
    (root.current?.querySelector<HTMLElement>("li button") ?? root.current)?.focus();
  });
  return root;
}

function hasFocus(element: HTMLElement | null): boolean {
  return element?.contains(document.activeElement) ?? false;
}

interface NodeProps {
  stage: Stage;
  picture: Picture;
  node: number;
}

function OneNode({ stage, picture, node }: NodeProps) {
  const on = ([0, 1] as const).filter((side) => (picture.id[side][node] ?? -1) >= 0);
  const place = placeOf(picture, node, 1);
  const { graph, id } = place;
  const mark = picture.compares ? Math.max(...on.map((side) => picture.mark[side][node] ?? 0)) : 0;
  const ends = useMemo(() => neighboursOf(picture, node), [picture, node]);
  const partners = (picture.partners.get(node) ?? []).map((other): End => ({ node: other, port: "" }));
  return (
    <>
      <h3 class="wb-op">{oneLine(textOf(graph, "label", id)) || "(no name)"}</h3>
      <div class="wb-type">{oneLine(compactType(textOf(graph, "type", id)), 600)}</div>
      {mark > 0 && <p class={`wb-mark-${MARKS[mark]}`}>{SENTENCE[mark]}</p>}
      <Facts rows={factsOf(place)} />
      <Attributes picture={picture} node={node} sides={on} />
      <Groups picture={picture} node={node} />
      <Links {...{ stage, picture, node }} title="Inputs" ends={ends.inputs} />
      <Links {...{ stage, picture, node }} title="Used by" ends={ends.users} />
      <Links
        {...{ stage, picture, node }}
        title={mark === 5 || mark === 1 ? "Became" : "Together with"}
        ends={partners}
      />
    </>
  );
}

function factsOf({ graph, id }: ReturnType<typeof placeOf>): [string, string][] {
  const kind = KINDS[graph.kind[id] ?? 0] ?? "node";
  const pattern = graph.pattern[id] ?? -1;
  const name = textOf(graph, "name", id);
  const size = bytes(textOf(graph, "type", id));
  const span = textOf(graph, "span", id);
  const facts: [string, string][] = [["kind", kind === "param" ? "parameter" : kind.replace("_", " ")]];
  if (kind === "op" && PATTERNS[pattern]) facts.push(["fuses as", PATTERNS[pattern]]);
  if (name && name !== textOf(graph, "label", id)) facts.push(["name", name]);
  if (size > 0) facts.push(["size", formatBytes(size)]);
  if (span) facts.push(["span", span]);
  return facts;
}

/** Attributes of both sides; where they differ, the old value struck out before the new. */
function Attributes({ picture, node, sides }: { picture: Picture; node: number; sides: readonly (0 | 1)[] }) {
  const maps = sides.map((side) => {
    const { graph, id } = placeOf(picture, node, side);
    return new Map(attributes(textOf(graph, "attrs", id)));
  });
  const keys = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  if (keys.length === 0) return null;
  return (
    <>
      <h4>Attributes</h4>
      <Rows>
        {keys.map((key) => {
          const values = maps.map((map) => map.get(key) ?? "");
          const now = values.at(-1) ?? "";
          const same = values.every((value) => value === now);
          return (
            <tr key={key}>
              <th scope="row">{oneLine(key, 60)}</th>
              <td>
                {!same && <del class="wb-mark-removed">{oneLine(values[0] ?? "") || "(none)"}</del>}
                {!same && " "}
                <span class={same ? "" : "wb-mark-changed"}>{oneLine(now) || (same ? '""' : "(none)")}</span>
              </td>
            </tr>
          );
        })}
      </Rows>
    </>
  );
}

function Groups({ picture, node }: { picture: Picture; node: number }) {
  const { groups } = picture;
  const around = groupsOf(picture, node);
  if (around.length === 0) return null;
  const only = (g: number) =>
    picture.compares && groups.side[g] !== 3 ? (groups.side[g] === 2 ? " (after)" : " (before)") : "";
  return (
    <>
      <h4>In</h4>
      <Rows>
        {around.map((g) => (
          <tr key={g}>
            <th scope="row">{wordOf(picture, g)}</th>
            <td>{groupName(groups.name[g] ?? "") + only(g)}</td>
          </tr>
        ))}
      </Rows>
    </>
  );
}

function wordOf({ groups }: Picture, g: number): string {
  const kind = GROUP_KINDS[groups.kind[g] ?? 0] ?? "group";
  return kind === "primitive" ? "kernel" : kind;
}

interface End {
  node: number;
  port: string;
}

function neighboursOf(picture: Picture, node: number): { inputs: End[]; users: End[] } {
  const { inEdges, outEdges } = picture;
  const edges = ({ offset, items }: typeof inEdges) => [...items.subarray(offset[node], offset[node + 1])];
  const inputs = edges(inEdges).sort((a, b) => (picture.index[a] ?? 0) - (picture.index[b] ?? 0));
  return {
    inputs: inputs.map((e) => ({ node: picture.source[e] ?? 0, port: String(picture.index[e]) })),
    users: edges(outEdges).map((e) => ({ node: picture.target[e] ?? 0, port: "" })),
  };
}

function Links({ stage, picture, node: of, title, ends }: NodeProps & { title: string; ends: readonly End[] }) {
  const [grown, setGrown] = useState({ picture, of, count: FIRST });
  const count = grown.picture === picture && grown.of === of ? grown.count : FIRST;
  const shown = ends.slice(0, count);
  const rest = ends.length - shown.length;
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => roving(list.current));
  useLayoutEffect(() => {
    // The first of the rows that were added.
    if (grown.count > FIRST) focusRow(list.current, grown.count - MORE);
  }, [grown]);
  if (ends.length === 0) return null;
  return (
    <section>
      <h4>{ends.length > FIRST ? `${title} (${ends.length.toLocaleString("en")})` : title}</h4>
      <ul ref={list} class="wb-links">
        {shown.map(({ node, port }, i) => (
          <li key={i}>
            {port && <span class="wb-dim">{`${port} `}</span>}
            <button type="button" class="wb-link" onClick={() => void stage.reveal([node], false)}>
              {labelOf(picture, node)}
            </button>
            <span class="wb-dim">{` ${typeOf(picture, node)}`}</span>
          </li>
        ))}
        {rest > 0 && (
          <li>
            <Button
              label={`Show ${Math.min(rest, MORE)} more`}
              class="wb-button wb-small"
              testid="more"
              onClick={() => setGrown({ picture, of, count: count + MORE })}
            >
              {`and ${rest.toLocaleString("en")} more`}
            </Button>
          </li>
        )}
      </ul>
    </section>
  );
}

function labelOf(picture: Picture, node: number): string {
  const { graph, id } = placeOf(picture, node, 1);
  const constant = graph.kind[id] === Kind.constant;
  const label = constant ? textOf(graph, "name", id) || "const" : opName(textOf(graph, "label", id));
  return oneLine(label, 60) || "(no name)";
}

function typeOf(picture: Picture, node: number): string {
  const { graph, id } = placeOf(picture, node, 1);
  return oneLine(compactType(textOf(graph, "type", id)), 80);
}

function Several({ picture, nodes }: { picture: Picture; nodes: readonly number[] }) {
  const counts = useMemo(() => countKinds(picture, nodes), [picture, nodes]);
  const shared = picture.group[nodes[0] ?? 0] ?? -1;
  const one = shared >= 0 && nodes.every((u) => picture.group[u] === shared);
  const word = one ? wordOf(picture, shared) : "";
  return (
    <>
      <h3 class="wb-op">{one ? groupName(picture.groups.name[shared] ?? "") : counted(nodes.length, "node")}</h3>
      {one && <p class="wb-dim">{`${word === "kernel" ? "One kernel" : word} of ${counted(nodes.length, "node")}`}</p>}
      <Facts rows={counts.slice(0, MOST_KINDS).map(([op, n]) => [op, `× ${n.toLocaleString("en")}`])} />
      {counts.length > MOST_KINDS && <p class="wb-dim">{`and ${counts.length - MOST_KINDS} more kinds`}</p>}
    </>
  );
}

function countKinds(picture: Picture, nodes: readonly number[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const { graph, id } = placeOf(picture, node, 1);
    const kind = graph.kind[id];
    const op = opName(oneLine(textOf(graph, "label", id), 60));
    const label = kind === Kind.constant ? "constant" : kind === Kind.param ? "parameter" : op;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function Facts({ rows }: { rows: readonly (readonly [string, string])[] }) {
  return (
    <Rows>
      {rows.map(([key, value]) => (
        <tr key={key}>
          <th scope="row">{key}</th>
          <td>{oneLine(value, 600)}</td>
        </tr>
      ))}
    </Rows>
  );
}

function Rows({ children }: { children: ComponentChildren }) {
  return (
    <table class="wb-facts-table">
      <tbody>{children}</tbody>
    </table>
  );
}
