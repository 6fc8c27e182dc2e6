/** What of a picture does not depend on what is open: worked out once, since every click asks for it again. */
import { Kind } from "../model/messages.ts";
import { row } from "./csr.ts";
import { dtype } from "./labels.ts";
import { textOf } from "./payload.ts";
import { kindOf, type Picture, placeOf } from "./picture.ts";
import { outsideIn } from "./picture_groups.ts";

interface Basis {
  /** Bits of the sides on which a node can be a badge on its consumers. */
  folds: Uint8Array;
  /** 1 for tuples, and what takes them apart, that can be a mark on an edge. */
  elided: Uint8Array;
  /** 1 for what Relax's runtime does beside the data, and for what only the runtime reads. */
  runtime: Uint8Array;
  /** All groups, each after the one around it. */
  groupOrder: Int32Array;
}

const known = new WeakMap<Picture, Basis>();

export function basisOf(picture: Picture): Basis {
  const basis = known.get(picture) ?? build(picture);
  known.set(picture, basis);
  return basis;
}

function build(picture: Picture): Basis {
  const { outEdges } = picture;
  const kind = new Uint8Array(picture.nodeCount);
  const elided = new Uint8Array(picture.nodeCount);
  for (let u = 0; u < picture.nodeCount; u++) {
    kind[u] = kindOf(picture, u);
    const consumed = outEdges.offset[u + 1] > outEdges.offset[u];
    if (kind[u] === Kind.tuple || (kind[u] === Kind.get_item && consumed)) elided[u] = 1;
  }
  return {
    folds: foldable(picture, kind),
    elided,
    runtime: runtimeOf(picture, kind),
    groupOrder: outsideIn(picture.groups.parent),
  };
}

/** The names are those of RUNTIME in workbench/graph/changes.py; a tensor that the runtime allocates carries data between kernels. */
const RUNTIME = /^(relax\.(vm|memory|builtin)|vm\.builtin)\./;

function runtimeOf(picture: Picture, kind: Uint8Array): Uint8Array {
  const { offset, items } = picture.outEdges;
  const out = new Uint8Array(picture.nodeCount);
  if (!picture.sides.some(({ strings }) => strings.some((text) => RUNTIME.test(text)))) return out;
  const labels = Array.from(out, (_, u) => {
    const { graph, id } = placeOf(picture, u, 1);
    return textOf(graph, "label", id);
  });
  const named = labels.map((label) => RUNTIME.test(label));
  for (let u = 0; u < picture.nodeCount; u++) {
    const readers = items.slice(offset[u], offset[u + 1]);
    const read = readers.length > 0 && readers.every((e) => named[picture.target[e]]);
    if (
      picture.output[u] === 0 &&
      (named[u] ? !labels[u].endsWith("alloc_tensor") : read && (kind[u] === Kind.shape || kind[u] === Kind.constant))
    )
      out[u] = 1;
  }
  return out;
}

/** Of two parameters into one op, the data: whole numbers that look something up, otherwise what comes first. */
function leads(picture: Picture, other: number, own: number): boolean {
  const [a, b] = [indices(picture.edgeType[other]), indices(picture.edgeType[own])];
  return a !== b ? a : picture.index[other] < picture.index[own];
}

function indices(type: string): boolean {
  return /^u?int(32|64)$/.test(dtype(type));
}

/**
 * What is drawn as a badge on its consumers: every constant that something consumes; and a parameter wherever each of its
 * consumers has another input that comes first or is computed. So weights and biases become badges, and what flows through
 * the model stays a node. The answer is bits of sides: before a batch norm is taken apart its variance is a weight,
 * afterwards it is the beginning of a computation.
 */
function foldable(picture: Picture, kind: Uint8Array): Uint8Array {
  const { inEdges, outEdges } = picture;
  const fold = new Uint8Array(picture.nodeCount);
  // By custom a function's first parameter is its data, even where its weights are computed; only a looked-up table is not.
  const data = picture.sides.map((graph, s) => picture.node[s as 0 | 1][graph.kind.indexOf(Kind.param)] ?? -1);
  for (let u = 0; u < picture.nodeCount; u++) {
    if (outEdges.offset[u] === outEdges.offset[u + 1]) continue;
    for (const side of [1, 2]) {
      if (!(picture.side[u] & side) || picture.output[u] & side) continue;
      if (kind[u] === Kind.constant || (kind[u] === Kind.param && isWeight(u, side, data[side - 1] === u)))
        fold[u] |= side;
    }
  }
  return fold;

  function isWeight(u: number, side: number, first: boolean): boolean {
    let used = false;
    for (const e of row(outEdges, u)) {
      if (!(picture.edgeSide[e] & side)) continue;
      if (!isCarried(e, side, first)) return false;
      used = true;
    }
    return used;
  }

  /** Whether the consumer of an edge has another input that comes first or is computed. */
  function isCarried(e: number, side: number, first: boolean): boolean {
    const consumer = picture.target[e];
    if (kind[consumer] !== Kind.op && kind[consumer] !== Kind.call) return false;
    return row(inEdges, consumer).some((other) => {
      const from = picture.source[other];
      if (!(picture.edgeSide[other] & side) || from === picture.source[e] || kind[from] === Kind.constant) return false;
      return kind[from] === Kind.param ? leads(picture, other, e) : !first;
    });
  }
}
