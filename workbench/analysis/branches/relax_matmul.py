"""What CombineParallelMatmul makes of a function, followed binding by binding, and where it fails.

GetRewriter of src/relax/transform/combine_parallel_matmul.cc (TVM 0.27): of the branches that were found, those whose second
factors have one rank and one batch shape become one product. A form's search ends at the first branches that cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from workbench.analysis.branches.finder import Reason
from workbench.analysis.branches.recipe import Recipe, Ref
from workbench.analysis.branches.relax_block import Block, Bound, CircularBindings
from workbench.analysis.branches.relax_kinds import KINDS
from workbench.analysis.branches.relax_pattern import ADD, MATMUL, Match, Shape, match
from workbench.analysis.tensors import Tensor, tensor
from workbench.graph.model import Graph

SYMBOL = (
    "one factor or bias is a constant and the shape has a symbol, which TVM then takes for the missing variable: the pass "
    "raises; run it before BindParams"
)


@dataclass
class Merged:
    """Branches that become one."""

    left: int
    chains: list[tuple[int, ...]]
    "the nodes of each branch"
    shape: Shape
    recipe: Recipe
    hazards: list[Reason] = field(default_factory=list)
    whole: set[int] = field(default_factory=set)
    "variables that stand for all branches together"


@dataclass
class Outcome:
    """What the pass does to a function."""

    merged: list[Merged] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    refused: list[tuple[Match, Reason]] = field(default_factory=list)
    "branches at which the search for a form ended, and why they are not combined"

    @property
    def fails(self) -> bool:
        """Whether the pass raises, or what it makes is wrong."""
        return any(each.hazards for each in self.merged)

    @property
    def groups(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """What is combined, as hashable values."""
        return tuple((m.left, tuple(c for chain in m.chains for c in chain)) for m in self.merged)


class _Run:
    def __init__(self, graph: Graph, blocks: Sequence[Block]) -> None:
        self.graph = graph
        self.next = len(graph.nodes)
        self.outcome = Outcome(blocks=[_copied(block) for block in blocks])
        self.made: dict[int, Merged] = {}
        "variable that stands for several branches -> those branches"
        self.refs: dict[int, Ref] = {}
        "variable that the pass made -> what it is in its group's recipe"

    def new(self) -> int:
        self.next += 1
        return self.next - 1


def outcome(graph: Graph, blocks: Sequence[Block], order: Sequence[Shape]) -> Outcome:
    """What the pass does when it takes the forms in this order."""
    run = _Run(graph, blocks)
    for shape in order:
        for block in run.outcome.blocks:
            while not run.outcome.fails and _rewritten(run, block, shape):
                pass
    return run.outcome


def _copied(block: Block) -> Block:
    block = copy(block)
    block.bindings, block.inline = list(block.bindings), dict(block.inline)
    block.types, block.instead = dict(block.types), dict(block.instead)
    return block


def _rewritten(run: _Run, block: Block, shape: Shape) -> bool:
    """One round of the pass over a block; whether it changed anything."""
    remaining = list(block.bindings)
    changes: dict[int, list[Bound]] = {}
    while (found := match(block, remaining, shape)) is not None:
        made = _combined(run, block, found, shape)
        if not made:
            break
        changes.update(made)
        remaining = [bound for bound in remaining if bound.var not in made]
        if run.outcome.fails:
            return False
    if not changes:
        return False
    # sorted before they are written out, as one binding each
    reads = {var: _outer(block, bounds) for var, bounds in changes.items()}
    after = {bound.var: replace(bound, args=reads.get(bound.var, bound.args)) for bound in block.bindings}
    block.bindings = [after[bound.var] for bound in block.bindings]
    try:
        block.ordered()
    except CircularBindings:
        last = run.outcome.merged[-1]
        last.hazards.append(
            Reason(
                "sibling-dependency",
                "one branch needs what another one gives, and there is no order in which they could be computed together: the pass raises",
                tuple(chain[0] for chain in last.chains),
            )
        )
        return False
    block.bindings = [new for bound in block.bindings for new in changes.get(bound.var, [bound])]
    block.tidied()
    return True


def _outer(block: Block, bounds: Sequence[Bound]) -> tuple[int, ...]:
    """The variables from elsewhere that these bindings read."""
    own = {bound.var for bound in bounds}
    return tuple(var for bound in bounds for var in block.variables(bound) if var not in own)


def _combined(run: _Run, block: Block, found: Match, shape: Shape) -> dict[int, list[Bound]]:
    """The new bindings of each branch's last variable; empty if nothing is combined."""
    if min(found.right + found.bias) < 0:
        merged = _group(run, found, shape, range(len(found.chains)))
        heads = tuple(chain[0] for chain in merged.chains)
        merged.hazards.append(Reason("symbol-for-constant", SYMBOL, heads))
        run.outcome.merged.append(merged)
        return {chain[-1]: [] for chain in found.chains}
    kinds = [tensor(block.types[factor]) for factor in found.right]
    known = [kind for kind in kinds if kind is not None and "?" not in kind.shape]
    if len(known) < len(kinds):
        run.outcome.refused.append(
            (found, Reason("shape-unknown", "the shape of a second factor is not known", found.right))
        )
        return {}
    ranks: dict[int, list[int]] = {}
    for place, kind in enumerate(known):
        ranks.setdefault(len(kind.shape), []).append(place)
    made: dict[int, list[Bound]] = {}
    reasons: list[Reason] = []
    for rank in reversed(ranks):
        places, reason = _together(found, known, rank, ranks[rank])
        if reason is not None:
            reasons.append(reason)
        if len(places) > 1:
            made.update(_one(run, block, found, shape, places))
    if not made:
        run.outcome.refused += [(found, reason) for reason in reasons]
    return made


def _together(found: Match, kinds: Sequence[Tensor], rank: int, places: list[int]) -> tuple[list[int], Reason | None]:
    """Which of the branches with second factors of this rank are combined, in order, and why no more."""
    factors = tuple(found.right[place] for place in places)
    if len(places) == 1:
        said = f"the second factor of one has rank {rank} and no other has, and only factors of one rank are joined"
        return [], Reason("weight-rank", said, factors)
    if rank > 1 and len({kinds[place].shape[:-2] for place in places}) > 1:
        shown = " and ".join(str(kinds[place]) for place in places)
        return [], Reason("batch-shape", f"the second factors are {shown}, and their batch dimensions differ", factors)
    fixed = [place for place in places if isinstance(kinds[place].shape[-1], int)]
    dynamic = [place for place in places if place not in fixed]
    if len(dynamic) > 1:
        left = tuple(found.right[place] for place in dynamic[1:])
        said = "more than one result has a width that is not a number, and only the first of them is combined, as the last part"
        return [*fixed, *dynamic[:1]], Reason("dynamic-width", said, left)
    return [*fixed, *dynamic], None


def _one(run: _Run, block: Block, found: Match, shape: Shape, places: Sequence[int]) -> dict[int, list[Bound]]:
    """Bindings that compute some branches together, once for each branch as TVM writes them."""
    merged = _group(run, found, shape, places)
    merged.hazards += hazards(block, found, shape, places)
    run.outcome.merged = [each for each in run.outcome.merged if each is not merged] + [merged]
    if merged.hazards:
        return {found.chains[place][-1]: [] for place in places}
    refs: dict[int, Ref] = {}
    made: dict[int, list[Bound]] = {}
    for number, place in enumerate(places):
        bounds = _bindings(run, block, found, shape, places)
        if not number:
            refs = {bound.var: _item(run, merged, block, bound) for bound in bounds}
        parts = bounds[-1].var
        for bound, first in zip(bounds, refs, strict=True):
            run.refs[bound.var] = refs[first]
            run.made[bound.var] = merged
            merged.whole.add(bound.var)
        end = found.chains[place][-1]
        type = block.types[end]
        made[end] = [*bounds, Bound(end, "get_item", f".{number}", (parts,), type)]
        ref = merged.recipe.add("get_item", f".{number}", [run.refs[parts]], type)
        if end < len(run.graph.nodes):
            merged.recipe.ends[end] = ref
        else:
            _redirect(merged.recipe, run.refs[end], ref)
            run.refs[end] = ref
    return made


def _redirect(recipe: Recipe, old: Ref, new: Ref) -> None:
    """Let what read one item read another."""
    for place, item in enumerate(recipe.items):
        if ("new", place) != new and item.kind != "get_item":
            recipe.items[place] = replace(item, inputs=tuple(new if ref == old else ref for ref in item.inputs))


def _group(run: _Run, found: Match, shape: Shape, places: Sequence[int]) -> Merged:
    """The group that these branches make, together with those that they were made of."""
    group: Merged | None = None
    for place in places:
        earlier = run.made.get(found.chains[place][0])
        if earlier is not None and group is None:
            group = earlier
    chains = [found.chains[place] for place in places if found.chains[place][0] < len(run.graph.nodes)]
    if group is None:
        return Merged(found.left, chains, shape, Recipe(run.graph, tidies=True))
    group.chains += chains
    return group


def _ref(run: _Run, var: int) -> Ref:
    return ("old", var) if var < len(run.graph.nodes) else run.refs[var]


def _item(run: _Run, merged: Merged, block: Block, bound: Bound) -> Ref:
    """A made binding as an item of the recipe."""
    inputs = []
    for arg in bound.args:
        fields = block.inline.get(arg)
        if fields is not None:
            inputs.append(merged.recipe.add("tuple", "tuple", [_ref(run, field) for field in fields.args], fields.type))
        else:
            inputs.append(_ref(run, arg))
    run.refs[bound.var] = ref = merged.recipe.add(bound.kind, bound.op, inputs, bound.type, bound.pattern)
    return ref


def _bindings(run: _Run, block: Block, found: Match, shape: Shape, places: Sequence[int]) -> list[Bound]:
    """The joined factors, their product, what follows it, and its parts."""
    bounds: list[Bound] = []

    def kind(var: int) -> Tensor:
        read = tensor(block.types[var])
        assert read is not None, f"{block.types[var]} is no tensor type"
        return read

    def bind(op: str, args: Sequence[int], type: Tensor | str, attrs: object = None) -> int:
        var = run.new()
        block.types[var] = str(type)
        bounds.append(Bound(var, "op", op, tuple(args), str(type), attrs, KINDS[op]))
        return var

    def concat(fields: Sequence[int]) -> int:
        whole = run.new()
        kinds = [kind(each) for each in fields]
        block.types[whole] = f"({', '.join(map(str, kinds))})"
        block.inline[whole] = Bound(whole, "tuple", "tuple", tuple(fields), block.types[whole])
        axis = len(kinds[0].shape) - 1
        return bind("relax.concat", [whole], _joined(kinds), axis)

    factors = concat([found.right[place] for place in places])
    first = kind(found.chains[places[0]][0])
    width = kind(factors).shape[-1]
    type = Tensor((*first.shape[:-1], width), first.dtype)
    last = bind(MATMUL, [found.left, factors], type, "combined")
    if shape.bias:
        sums = kind(found.chains[places[0]][1])
        bias = concat([found.bias[place] for place in places])
        last = bind(ADD, [last, bias], replace(sums, shape=(*sums.shape[:-1], width)))
    if shape.activation:
        last = bind(shape.activation, [last], kind(last))
    ends = [kind(found.chains[place][-1]) for place in places]
    widths = tuple(kind(found.right[place]).shape[-1] for place in places)
    bind("relax.split", [last], f"({', '.join(map(str, ends))})", widths)
    return bounds


def _joined(kinds: Sequence[Tensor]) -> Tensor:
    """The type of tensors joined along the last axis."""
    widths = [kind.shape[-1] for kind in kinds]
    named = [width for width in widths if isinstance(width, str)]
    number = sum(width for width in widths if isinstance(width, int))
    whole = f"{number} + {named[0]}" if named and number else named[0] if named else number
    return Tensor((*kinds[0].shape[:-1], whole), kinds[0].dtype)


def hazards(block: Block, found: Match, shape: Shape, places: Sequence[int]) -> list[Reason]:
    """What goes wrong when these branches are combined; the pass checks none of it."""

    def kind(var: int) -> Tensor:
        return tensor(block.types[var]) or Tensor(("?",), "")

    heads = tuple(found.chains[place][0] for place in places)
    right = [kind(found.right[place]) for place in places]
    left = kind(found.left)
    said: list[Reason] = []
    if len(right[0].shape) == 1:
        said.append(
            Reason(
                "weight-vector",
                "the second factors are vectors, and the pass reads past their shapes: it raises",
                heads,
            )
        )
        return said
    if len(left.shape) == 1:
        said.append(
            Reason(
                "left-vector",
                "the shared factor is a vector, and the pass splits along an axis that the product lacks: it raises",
                heads,
            )
        )
    if len({each.dtype for each in right}) > 1:
        said.append(Reason("weight-dtype", "the second factors are of different types, and concat raises", heads))
    if len({kind(head).dtype for head in heads}) > 1:
        said.append(
            Reason("out-dtype", "the products give different types, and TVM gives all the type of the first", heads)
        )
    if shape.bias:
        said += _bias_hazards(
            [kind(found.bias[place]) for place in places],
            [kind(head) for head in heads],
            tuple(found.bias[place] for place in places),
        )
    return said


def _bias_hazards(biases: Sequence[Tensor], products: Sequence[Tensor], nodes: tuple[int, ...]) -> list[Reason]:
    first = biases[0]
    if not first.shape:
        return [Reason("bias-scalar", "what is added is of rank 0, and concat raises", nodes)]
    if any((len(b.shape), b.shape[:-1], b.dtype) != (len(first.shape), first.shape[:-1], first.dtype) for b in biases):
        return [
            Reason(
                "bias-shapes",
                f"what is added, {first} and others, cannot be joined along the last axis: the pass raises",
                nodes,
            )
        ]
    if any(len(b.shape) > len(p.shape) for b, p in zip(biases, products, strict=True)):
        return [
            Reason(
                "bias-rank",
                "what is added has more dimensions than the product, and the pass splits along another axis than the last",
                nodes,
            )
        ]
    if any(b.shape[-1] != p.shape[-1] for b, p in zip(biases, products, strict=True)):
        return [
            Reason(
                "bias-width",
                "what is added has no entry for each column; joined, it is added to other columns, or the pass raises",
                nodes,
            )
        ]
    return []
