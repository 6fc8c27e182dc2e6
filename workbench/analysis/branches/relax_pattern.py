"""What CombineParallelMatmul looks for: so many products of one value, each with a bias or an activation, or bare.

GetBranchInfo of src/relax/transform/combine_parallel_matmul.cc (TVM 0.27) counts branches in the whole function, and
MatchGraph of src/relax/ir/dataflow_block_rewriter.cc looks for as many of them; where the two differ, less is combined
than was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, permutations, product

from workbench.analysis.branches.relax_block import Block, Bound
from workbench.analysis.tensors import tensor

MATMUL, ADD = "relax.matmul", "relax.add"
ACTIVATIONS = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")
MOST_ORDERS = 24


@dataclass(frozen=True, order=True, slots=True)
class Shape:
    """One form of branches that the pass looks for."""

    branches: int
    bias: bool
    activation: str
    "empty if there is none"


class ConstantLeft(ValueError):
    """A product's first factor is no variable, and the pass takes it for one."""

    def __init__(self, node: int) -> None:
        super().__init__(node)
        self.node = node


@dataclass
class _Count:
    branches: int
    bias: int | None
    activation: str

    @property
    def shape(self) -> Shape:
        return Shape(self.branches, self.bias is not None, self.activation)


@dataclass(frozen=True)
class Forms:
    """What the pass looks for in a function."""

    wanted: tuple[Shape, ...]
    "most branches first; of as many, in the order that TVM's table is likely to give them"
    counted: Mapping[int, Shape]
    "first factor -> the form in which all its products are"


def forms(blocks: Sequence[Block]) -> Forms:
    """The forms that the pass looks for.

    Raises
    ------
    ConstantLeft
        The pass fails here.
    """
    chains = list(_chains(blocks))
    active: dict[int, _Count] = {}
    for biased in (True, False):
        for activation in ACTIVATIONS:
            found = _counts(c for c in chains if c[2] == activation and (c[1] is not None) == biased)
            for left, count in found.items():
                active.setdefault(left, count)
    biased = _counts(c for c in chains if c[1] is not None and not c[2])
    bare = _counts(c for c in chains if c[1] is None and not c[2])
    for found in (biased, active):
        for left, count in found.items():
            if left in bare and bare[left].branches == count.branches:
                bare[left] = count
    several = [c.shape for found in (bare, active, biased) for c in reversed(found.values()) if c.branches > 1]
    wanted = sorted(dict.fromkeys(several), key=lambda shape: -shape.branches)
    return Forms(tuple(wanted), {left: count.shape for left, count in bare.items()})


def orders(found: Sequence[Shape]) -> Iterator[list[Shape]]:
    """The orders in which the pass may take forms: among those of as many branches, the memory's addresses decide."""
    tied = [list(each) for _, each in groupby(found, key=lambda shape: shape.branches)]
    for order in islice(product(*map(permutations, tied)), MOST_ORDERS):
        yield [shape for part in order for shape in part]


def _chains(blocks: Sequence[Block]) -> Iterator[tuple[int, int | None, str]]:
    """(first factor, rank of the bias, activation) of every call that ends such a branch, in order."""
    bound = {b.var: b for block in blocks for b in block.bindings}
    constants = {c for block in blocks for c in block.constants}
    for block in blocks:
        for call in block.bindings:
            if call.kind != "op":
                continue
            if call.op == MATMUL:
                if call.args[0] in constants:
                    raise ConstantLeft(call.var)
                yield call.args[0], None, ""
            elif call.op == ADD:
                found = _biased(block, call, bound)
                if found is not None:
                    yield *found, ""
            elif call.op in ACTIVATIONS and call.args[0] in bound:
                before = bound[call.args[0]]
                if before.kind == "op" and before.op == MATMUL:
                    yield before.args[0], None, call.op
                found = _biased(block, before, bound)
                if found is not None:
                    yield *found, call.op


def _biased(block: Block, call: Bound, bound: Mapping[int, Bound]) -> tuple[int, int] | None:
    """The first factor of a product in a sum, and the rank of what is added; None for anything else."""
    if call.kind != "op" or call.op != ADD:
        return None
    for factor, bias in (call.args, call.args[::-1]):
        found = bound.get(factor)
        if found is not None and found.kind == "op" and found.op == MATMUL:
            kind = tensor(block.types[bias])
            return found.args[0], -1 if kind is None else len(kind.shape)
    return None


def _counts(chains: Iterable[tuple[int, int | None, str]]) -> dict[int, _Count]:
    found: dict[int, _Count] = {}
    for left, bias, activation in chains:
        count = found.get(left)
        if count is None:
            found[left] = _Count(1, bias, activation)
        else:
            count.branches += 1
            count.bias = bias if count.bias == bias else None
    return found


@dataclass(frozen=True)
class Match:
    """Branches that the pass found."""

    left: int
    chains: tuple[tuple[int, ...], ...]
    "of each the product, the sum if the form has one, and the activation if it has one"
    right: tuple[int, ...]
    bias: tuple[int, ...]


def match(block: Block, bindings: Sequence[Bound], shape: Shape) -> Match | None:
    """The first branches of this form, None if there are none.

    Parts of a match are different variables: where two branches share their factor or their bias there is none, and
    constants are no variables at all.
    """
    reads = {bound.var: list(block.variables(bound)) for bound in bindings}
    bound = {each.var: each for each in bindings}
    users: dict[int, dict[int, None]] = {}
    for var, read in reads.items():
        for each in read:
            users.setdefault(each, {})[var] = None

    def chain(product: int) -> tuple[int, ...] | None:
        """The product with what the form has after it; only the first user of each kind is looked at."""
        found = [product]
        for op in ((ADD,) if shape.bias else ()) + ((shape.activation,) if shape.activation else ()):
            after = next((u for u in users.get(found[-1], ()) if _takes(bound[u], op, reads[u], found[-1])), None)
            if after is None:
                return None
            found.append(after)
        return tuple(found)

    for left in dict.fromkeys(each for read in reads.values() for each in read):
        products = (user for user in users[left] if _takes(bound[user], MATMUL, reads[user], left))
        chains = list(islice((found for each in products if (found := chain(each))), shape.branches))
        if len(chains) == shape.branches:
            found = _distinct(left, chains, reads, bias=shape.bias)
            if found is not None:
                return found
    return None


def _takes(call: Bound, op: str, read: Sequence[int], var: int) -> bool:
    """Whether a call is of the operator, and the variable is the first that it reads."""
    return call.kind == "op" and call.op == op and read[0] == var


def _distinct(
    left: int, chains: Sequence[tuple[int, ...]], reads: Mapping[int, Sequence[int]], *, bias: bool
) -> Match | None:
    """The match of these branches, if all their parts are different variables."""
    taken = {left, *(var for chain in chains for var in chain)}
    factors: list[int] = []
    biases: list[int] = []
    for chain in chains:
        for place, into in ((0, factors), (1, biases))[: 1 + bias]:
            beside = reads[chain[place]][1:2]
            if not beside or beside[0] in taken:
                return None
            taken.add(beside[0])
            into.append(beside[0])
    return Match(left, tuple(chains), tuple(factors), tuple(biases))
