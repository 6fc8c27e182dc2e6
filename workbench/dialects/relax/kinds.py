"""The derivation of a PrimFunc's kind by AnnotateTIROpPattern: the block and the access that determine it.

The rules are TVM's (src/relax/analysis/tir_op_pattern_kind.cc, 0.27): a block's kind depends on how the indices that it
reads relate to those that it writes; the function has the largest of them, a complex one where a result follows a
reduction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from workbench.analysis.fusion.forward import BROADCAST, COMM_REDUCE, ELEMWISE, INJECTIVE, OPAQUE, OUT_ELEMWISE
from workbench.analysis.fusion.reasons import WORDS
from workbench.dialects.relax import compat
from workbench.terminal import visible


@dataclass(frozen=True)
class BlockKind:
    """The effect of one block on the function's kind."""

    block: str
    kind: int
    "the function's kind after this block"
    sentence: str


@dataclass(frozen=True)
class KindReport:
    """The pattern kind of a kernel for FuseOps, and its derivation."""

    function: str
    kind: int | None
    "the kind that FuseOps reads, `op_pattern`; None if AnnotateTIROpPattern has not run"
    derived: int
    "the kind that TVM's analysis derives from the body"
    blocks: tuple[BlockKind, ...]
    "in program order"

    @property
    def sentence(self) -> str:
        """Return the report in a sentence or two."""
        deciding = next((b for b in reversed(self.blocks) if b.kind == self.derived and b.sentence), None)
        because = deciding.sentence if deciding else "it has no block, so nothing was found against elementwise"
        said = f"{self.function} is {WORDS[self.derived]}: {because}."
        if self.kind is None:
            return f"{said} AnnotateTIROpPattern has not run yet, so FuseOps takes it for opaque."
        if self.kind != self.derived:
            return (
                f"{said} But its op_pattern says {WORDS[self.kind]}, set before: the pass leaves a kind that is not 0."
            )
        return said

    def __str__(self) -> str:
        return visible("\n".join([self.sentence, *(f"  {b.block}: {b.sentence} -> {b.kind}" for b in self.blocks)]))


def derived_kind(function: Any, name: str) -> KindReport:
    """Return the kind that TVM's analysis gives a PrimFunc, block by block."""
    outputs = set(arguments_of(function))
    kind, made = ELEMWISE, list[BlockKind]()
    for block in blocks_of(function.body):
        kind, sentence = _after(block, kind, outputs)
        made.append(BlockKind(str(block.name_hint), kind, sentence))
    said = None if function.attrs is None else function.attrs.get("op_pattern")
    return KindReport(name, None if said is None else int(said), kind, tuple(made))


def arguments_of(function: Any) -> list[Any]:
    """Return the parameters of a PrimFunc: a buffer for each tensor."""
    # until 0.26 a parameter is a handle, and its buffer is in a separate map
    mapped = getattr(function, "buffer_map", {})
    return [mapped.get(parameter, parameter) for parameter in function.params]


def written_by(function: Any) -> set[Any]:
    """Return the buffers that a PrimFunc stores to."""
    return {compat.buffer_of(each) for each in _all_of(function.body) if _class_name(each) == "BufferStore"}


def reduces(function: Any) -> bool:
    """Return whether a block of a PrimFunc, also one within another, sums or reduces otherwise over an axis."""
    axes = (axis for each in statements_of(function.body) for axis in getattr(each, "iter_vars", ()))
    return any(int(axis.iter_type) == _REDUCED for axis in axes)


_REDUCED = 2
"tir.IterVar.CommReduce"


def prim_funcs(module: Any) -> dict[str, Any]:
    """Return the PrimFuncs of a module by name."""
    return {v.name_hint: f for v, f in module.functions_items() if isinstance(f, tirx.PrimFunc)}


def blocks_of(body: Any) -> Iterator[Any]:
    """Yield the blocks in order, without the root."""
    stack = [body]
    while stack:
        current = stack.pop()
        if _class_name(current) in ("SBlock", "Block") and str(current.name_hint) != "root":
            yield current
            continue
        stack.extend(reversed(parts_of(current)))


def statements_of(body: Any) -> Iterator[Any]:
    """Yield a statement and all statements and blocks in it."""
    waiting = [body]
    while waiting:
        yield (current := waiting.pop())
        waiting.extend(reversed(parts_of(current)))


def parts_of(statement: Any) -> list[Any]:
    """Return the statements that a statement or block has directly in it."""
    parts = list(getattr(statement, "seq", ()))
    for name in ("block", "body", "then_case", "else_case"):
        part = getattr(statement, name, None)
        if part is not None:
            parts.append(part)
    return parts


def _class_name(node: Any) -> str:
    """Return the class name of a node: its module differs between versions of TVM, its name does not."""
    return type(node).__name__


_ONE = "block body then_case else_case value a b condition true_value false_value min extent"
_SEVERAL = ("seq", "indices", "args")
"Fields with the parts of statements and expressions; buffers are not parts."


def _all_of(root: Any) -> Iterator[Any]:
    """Yield a statement or expression and all its parts."""
    stack = [root]
    while stack:
        current = stack.pop()
        yield current
        parts = [getattr(current, name, None) for name in _ONE.split()]
        for name in _SEVERAL:
            parts.extend(getattr(current, name, ()))
        stack.extend(part for part in reversed(parts) if hasattr(part, "same_as"))


def _after(block: Any, before: int, outputs: set[Any]) -> tuple[int, str]:
    """Return the function's kind after a block, and the reason."""
    parts = list(_all_of(block.body))
    stores = [each for each in parts if _class_name(each) == "BufferStore"]
    loads = [each for each in parts if compat.is_load(each)]
    if not stores:
        return OPAQUE, "writes nothing that TVM can see"
    if any(not _same(store.indices, stores[0].indices) for store in stores[1:]):
        return OPAQUE, "writes in two places, and the analysis knows blocks that write in one"
    store = stores[-1]
    pairs = [(_access(store, load), load) for load in loads]
    worst = max((kind for kind, _ in pairs), default=ELEMWISE)
    if worst != OPAQUE:
        return _rearranging(block, before, outputs, store, pairs, worst)
    return _reducing(block, before, store, loads, next(load for kind, load in pairs if kind == OPAQUE))


def _rearranging(
    block: Any, before: int, outputs: set[Any], store: Any, pairs: list[tuple[int, Any]], worst: int
) -> tuple[int, str]:
    here = f"block {block.name_hint}"
    deciding = next((load for kind, load in pairs if kind == worst), None)
    if worst == BROADCAST and any(kind == ELEMWISE for kind, _ in pairs):
        same = next(load for kind, load in pairs if kind == ELEMWISE)
        worst = ELEMWISE
        said = f"{here} reads {_place(same)} where it writes {_place(store)}, and what it reads by fewer indices does not count then"
    elif deciding is None:
        said = f"{here} writes {_place(store)} and reads nothing"
    else:
        how = {
            ELEMWISE: "at the same indices as",
            BROADCAST: "by some of the indices, in order, of",
            INJECTIVE: "by other expressions of the indices of",
        }[worst]
        said = f"{here} reads {_place(deciding)} {how} what it writes, {_place(store)}"
    writes_output = any(compat.buffer_of(region) in outputs for region in block.writes)
    if writes_output and before == COMM_REDUCE:
        return OUT_ELEMWISE, f"{said}, and gives the result after a reduction, as a softmax does"
    return max(before, worst), said


def _reducing(block: Any, before: int, store: Any, loads: list[Any], odd: Any) -> tuple[int, str]:
    here = f"block {block.name_hint}"
    axes = dict.fromkeys(axis.var for axis in block.iter_vars if int(axis.iter_type) == _REDUCED)
    if not axes:
        said = f"{here} reads {_place(odd)}, which the indices of {_place(store)} do not give, and reduces nothing"
        return OPAQUE, said
    factors = _multiplied(block.body)
    if factors is not None:
        a, b = (_place(factor) for factor in factors)
        said = f"{here} adds up {a} * {b} in {_place(store)}, and reads both again for other results"
        return max(before, OUT_ELEMWISE), said
    for load in loads:
        if not all(index in axes for index in load.indices if not _variables(index).isdisjoint(axes)):
            said = f"{here} reduces {_place(load)}, whose index is more than the reduced axis itself, as in pooling"
            return max(before, OUT_ELEMWISE), said
    names = ", ".join(str(getattr(axis, "name", axis)) for axis in axes)
    return max(before, COMM_REDUCE), f"{here} reduces over {names} and reads each value once"


def _access(store: Any, load: Any) -> int:
    """Return an access's kind by the relation of the index read to the one written; opaque if it is not a simple one."""
    if _same(store.indices, load.indices):
        return ELEMWISE
    if _is_broadcast(store, load):
        return BROADCAST
    return INJECTIVE if _is_injective(store, load) else OPAQUE


def _same(first: Any, second: Any) -> bool:
    return len(first) == len(second) and all(_is_one(a, b) for a, b in zip(first, second, strict=True))


def _is_one(a: Any, b: Any) -> bool:
    """Return whether two indices are the same object, as TVM checks it; plain numbers never are."""
    return hasattr(a, "same_as") and hasattr(b, "same_as") and a.same_as(b)


def _is_broadcast(store: Any, load: Any) -> bool:
    place = 0
    for size, index in zip(compat.buffer_shape(compat.buffer_of(load)), load.indices, strict=True):
        if compat.plain_value(size) == 1 and compat.plain_value(index) == 0:
            continue
        while place < len(store.indices) and not _is_one(store.indices[place], index):
            place += 1
        if place == len(store.indices):
            return False
    return True


def _is_injective(store: Any, load: Any) -> bool:
    written = _names(store.indices)
    if written is None:
        return False
    # an indexing buffer, as in take, is a variable that the store's indices do not have
    return not any(
        compat.is_load(n) or (_class_name(n) == "Var" and n not in written) for i in load.indices for n in _all_of(i)
    )


def _names(indices: Any) -> set[Any] | None:
    """Return the variables if every index is one."""
    return set(indices) if all(_class_name(index) == "Var" for index in indices) else None


def _variables(index: Any) -> set[Any]:
    return {node for node in _all_of(index) if _class_name(node) == "Var"}


def _multiplied(body: Any) -> tuple[Any, Any] | None:
    """Return the two loads of `C[..] = C[..] + A[..] * B[..]`, each read again for other results."""
    value: Any = _uncast(body.value) if _class_name(body) == "BufferStore" else None
    product = _uncast(value.b) if _class_name(value) == "Add" else None
    if value is None or product is None or _class_name(product) != "Mul":
        return None
    into, a, b = _uncast(value.a), _uncast(product.a), _uncast(product.b)
    if not all(compat.is_load(each) for each in (into, a, b)):
        return None
    if not compat.buffer_of(into).same_as(compat.buffer_of(body)) or not _same(into.indices, body.indices):
        return None
    return (a, b) if _is_reused(body, a) and _is_reused(body, b) else None


def _is_reused(store: Any, load: Any) -> bool:
    written = _names(store.indices)
    return written is not None and bool(written.difference(*map(_variables, load.indices)))


def _uncast(expr: Any) -> Any:
    while _class_name(expr) == "Cast":
        expr = expr.value
    return expr


def _place(access: Any) -> str:
    indices = ", ".join(_NUMBER.sub(r"\1", str(index)) for index in access.indices)
    return f"{compat.buffer_of(access).name}[{indices}]"


_NUMBER = re.compile(r"T\.int(?:32|64)\((-?\d+)\)")
