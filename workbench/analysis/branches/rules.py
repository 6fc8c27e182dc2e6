"""The conditions of TVM's four combiners on the operators they combine, and their hazards.

CombineParallelConv2D, CombineParallelDense (as a batch_matmul, and as a wider dense) and CombineParallelBatchMatmul of
TVM 0.17 (src/relay/transforms/combine_parallel_*.cc). The hazards were tried one by one; the passes check none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from workbench.analysis.branches.calls import Branches, Calls
from workbench.analysis.outcome import Reason
from workbench.analysis.tensors import Tensor, tensor
from workbench.errors import WorkbenchError
from workbench.graph.model import Node
from workbench.wording import counted

BROADCAST = 1
MOVES_AXES = ("expand_dims", "repeat", "tile", "broadcast_to", "broadcast_to_like")
"Operators that are element-wise by pattern kind but may move the axis along which branches are joined."
PER_AXIS = ("nn.bias_add", "nn.prelu")


@dataclass(frozen=True)
class Pair:
    """An argument of two operators at the same level of two branches."""

    head: int
    "the call that the first branch starts with"
    first: int
    "the operator of the first branch"
    other: int
    "the operator of the other"
    index: int
    "position of the argument"


@dataclass(frozen=True)
class Combiner:
    """The conditions of one of TVM's combiners, and its hazards."""

    op: str
    "the operator that it combines"
    passes: str
    "the pass as a Pipeline's text, with `{min}` where the least number of branches goes"
    compatible: Callable[[Calls, int, int], Reason | None]
    "returns why two sibling calls are not combined; None if they are"
    argument: Callable[[Calls, Pair], Reason | None]
    "returns why an argument of a following operator stops the chain; None if it does not"
    hazards: tuple[Callable[[Calls, Branches], Iterator[Reason]], ...]
    "each yields hazards of combining branches of equal length"

    def has_root(self, node: Node) -> bool:
        """Return whether the node's first argument is a value that this combiner looks at."""
        return node.op == self.op and (self.op != "nn.conv2d" or attr(node, "groups", 1) == 1)


# -- types, attributes and axes


def type_of(calls: Calls, node: int) -> Tensor:
    """Return the tensor type of a node; a type without known dimensions where it is not a tensor."""
    return tensor(calls.graph.nodes[node].type) or Tensor(("?",), "")


def argument_type(calls: Calls, node: int, index: int) -> Tensor:
    """Return the tensor type of an argument; raises WorkbenchError for a call without it, which TVM would not type."""
    given = calls.graph.inputs[node]
    if index >= len(given):
        op = calls.graph.nodes[node].op
        raise WorkbenchError(
            f"{op} (node {node}) has {counted(len(given), 'argument')} and takes at least {index + 1}; load the graph from a module "
            "that TVM accepts"
        )
    return type_of(calls, given[index])


def attr(node: Node, name: str, default: object = None) -> object:
    """Return an attribute, or its default, which the graph leaves out."""
    found = node.attrs.get(name, default)
    return default if found is None else found


def axis_of(node: Node, rank: int, default: int = 0) -> int:
    """Return the axis attribute, counted from the front."""
    axis = attr(node, "axis", default)
    axis = axis if isinstance(axis, int) else default
    return axis if axis >= 0 else axis + rank


def _channel(calls: Calls, node: int) -> int:
    """Return the axis of the channels in a convolution's result."""
    given = calls.graph.nodes[node]
    return max(str(attr(given, "out_layout", "") or attr(given, "data_layout", "NCHW")).find("C"), 0)


def _kernel(calls: Calls, node: int) -> tuple[int | str, ...]:
    layout = [c for c in str(attr(calls.graph.nodes[node], "kernel_layout", "OIHW")) if c.isalpha() and c.isupper()]
    shape = argument_type(calls, node, 1).shape
    if not {"H", "W"} <= set(layout) or len(shape) < len(layout):
        return shape
    return shape[layout.index("H")], shape[layout.index("W")]


def _others(calls: Calls, branches: Branches, level: int) -> Iterator[tuple[int, int]]:
    """Yield (branch, argument position) of each argument of a level other than the branches' own values."""
    for number, branch in enumerate(branches):
        for index, source in enumerate(calls.graph.inputs[branch[level]]):
            if source != branch[level - 1]:
                yield number, index


# -- conditions on sibling calls


def _differ(calls: Calls, first: int, other: int, *names: str) -> Reason | None:
    """Return the first of these attributes in which two calls differ."""
    a, b = calls.graph.nodes[first], calls.graph.nodes[other]
    for name in names:
        ours, theirs = a.attrs.get(name), b.attrs.get(name)
        if ours == theirs or (_unset(ours) and _unset(theirs)):
            continue
        if name == "out_dtype" and a.type.endswith(b.type.rpartition(" ")[2]):
            said = "both give the same type, but one names it in out_dtype and the other leaves it out, which TVM takes for a difference"
            return Reason("out-dtype-spelling", said, (first, other))
        shown = " and ".join("the default" if _unset(value) else str(value) for value in (ours, theirs))
        return Reason(f"attr:{name}", f"they differ in {name}: {shown}", (first, other))
    return None


def _unset(value: object) -> bool:
    return value is None or value == ""


def _conv_compatible(calls: Calls, first: int, other: int) -> Reason | None:
    names = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_dtype", "out_layout")
    different = _differ(calls, first, other, *names)
    ours, theirs = _kernel(calls, first), _kernel(calls, other)
    if different or ours == theirs:
        return different
    shown = " and ".join("x".join(map(str, size)) for size in (ours, theirs))
    return Reason(
        "kernel-size", f"their kernels are {shown}, and only kernels of one size are put together", (first, other)
    )


def _dense_compatible(calls: Calls, first: int, other: int, *, axes: tuple[int, ...]) -> Reason | None:
    different = _differ(calls, first, other, "out_dtype")
    ours, theirs = argument_type(calls, first, 1), argument_type(calls, other, 1)
    if different or all(ours.shape[axis : axis + 1] == theirs.shape[axis : axis + 1] for axis in axes):
        return different
    return Reason("weight-shape", f"the weights are {ours} and {theirs}", (first, other))


def _matmul_compatible(calls: Calls, first: int, other: int) -> Reason | None:
    for node in (first, other):
        given = calls.graph.nodes[node]
        # the attributes that the graph leaves out are at their defaults, False
        if attr(given, "transpose_a", False) or not attr(given, "transpose_b", False):
            said = "TVM combines only batch_matmul with transpose_a=False and transpose_b=True"
            return Reason("attr:transpose_b", said, (node,))
    ours, theirs = argument_type(calls, first, 1), argument_type(calls, other, 1)
    different = _differ(calls, first, other, "out_dtype")
    same = (
        ours.dtype == theirs.dtype
        and type_of(calls, first).dtype == type_of(calls, other).dtype
        and len(ours.shape) == len(theirs.shape) == 3
        and ours.shape[0] == theirs.shape[0]
    )
    if different or same:
        return different
    return Reason("weight-shape", f"the right sides are {ours} and {theirs}", (first, other))


# -- conditions on the arguments of operators that follow


def _uneven(calls: Calls, pair: Pair, more: str = "the other arguments are {} and {}") -> Reason:
    ours, theirs = (argument_type(calls, node, pair.index) for node in (pair.first, pair.other))
    nodes = tuple(calls.graph.inputs[node][pair.index] for node in (pair.first, pair.other))
    return Reason("level-arg-rank", more.format(ours, theirs), nodes)


def _conv_argument(calls: Calls, pair: Pair) -> Reason | None:
    kinds = [(argument_type(calls, node, pair.index), type_of(calls, node)) for node in (pair.first, pair.other)]
    (ours, whole), (theirs, _) = kinds
    if ours.dtype != theirs.dtype or len(ours.shape) != len(theirs.shape):
        return _uneven(calls, pair)
    channel = _channel(calls, pair.head)
    position = channel - len(whole.shape) + len(ours.shape)
    if not 0 <= position <= channel or any(kind.shape[position] != of.shape[channel] for kind, of in kinds):
        said = f"the argument {ours} has no entry for each channel, so TVM cannot join it along the channels"
        return Reason("level-arg-channel", said, _uneven(calls, pair).nodes)
    same = all(a == b for i, (a, b) in enumerate(zip(ours.shape, theirs.shape, strict=True)) if i != position)
    return None if same else _uneven(calls, pair)


def _stacked_argument(calls: Calls, pair: Pair) -> Reason | None:
    if argument_type(calls, pair.first, pair.index) == argument_type(calls, pair.other, pair.index):
        return None
    return _uneven(calls, pair, "the other arguments are {} and {}, and only equal shapes are stacked")


def _joined_argument(calls: Calls, pair: Pair) -> Reason | None:
    kinds = [(argument_type(calls, node, pair.index), type_of(calls, node)) for node in (pair.first, pair.other)]
    (ours, _), (theirs, _) = kinds
    longer = any(len(kind.shape) > len(of.shape) for kind, of in kinds)
    if ours.dtype != theirs.dtype or len(ours.shape) != len(theirs.shape) or longer:
        return _uneven(calls, pair)
    if ours.shape[:-1] != theirs.shape[:-1]:
        return _uneven(calls, pair, "the other arguments, {} and {}, differ before the last axis")
    return None


# -- hazards


def _weight_dtype(calls: Calls, branches: Branches, *, raises: str) -> Iterator[Reason]:
    heads = tuple(branch[0] for branch in branches)
    if len({argument_type(calls, head, 1).dtype for head in heads}) > 1:
        yield Reason("weight-dtype", f"the weights are of different types, and {raises} raises", heads)


def _conv_heads(calls: Calls, branches: Branches) -> Iterator[Reason]:
    heads = tuple(branch[0] for branch in branches)
    node = calls.graph.nodes[heads[0]]
    layouts = f"{attr(node, 'data_layout', '')}{attr(node, 'kernel_layout', '')}{attr(node, 'out_layout', '')}"
    if any(character.isdigit() for character in layouts):
        said = "the layout is packed, and TVM counts its blocks for channels: the pass raises"
        yield Reason("packed-layout", said, heads)
    if attr(node, "groups", 1) != 1:
        said = "these are grouped convolutions; beside one of groups=1 TVM combines them too, and each then reads other channels than before"
        yield Reason("grouped-conv-wrong", said, heads)


def _channels_moved(calls: Calls, branches: Branches) -> Iterator[Reason]:
    channel = _channel(calls, branches[0][0])
    for level in range(1, len(branches[0])):
        node = calls.graph.nodes[branches[0][level]]
        steps = ((type_of(calls, branch[level - 1]).shape, type_of(calls, branch[level]).shape) for branch in branches)
        if any(_moves_channel(node, before, after, channel) for before, after in steps):
            said = f"{node.op} moves or grows the channels, and the slices that follow do not: the pass raises"
            yield Reason("channel-moved", said, (node.id,))
        elif node.op in PER_AXIS and axis_of(node, len(type_of(calls, node.id).shape), 1) != channel:
            said = f"{node.op} works along another axis than the channels: the pass raises"
            yield Reason("channel-moved", said, (node.id,))


def _moves_channel(node: Node, before: tuple[int | str, ...], after: tuple[int | str, ...], channel: int) -> bool:
    if len(after) <= channel or after[channel] != before[channel]:
        return True
    if node.op == "expand_dims":
        return axis_of(node, len(after)) <= channel
    if node.op == "repeat" and axis_of(node, len(before)) != channel:
        return len(after) != len(before)
    return node.op in MOVES_AXES or len(after) != len(before)


def _dense_input(calls: Calls, branches: Branches) -> Iterator[Reason]:
    given = argument_type(calls, branches[0][0], 0)
    if len(given.shape) != 2:
        heads = tuple(branch[0] for branch in branches)
        yield Reason("input-rank", f"the input is {given}; TVM takes it for a matrix and raises", heads)


def _stacked(calls: Calls, branches: Branches) -> Iterator[Reason]:
    """Yield the hazards of branches that are stacked on a new first axis."""
    for level in range(1, len(branches[0])):
        node = calls.graph.nodes[branches[0][level]]
        from_the_end = node.op == "expand_dims" and isinstance(axis := attr(node, "axis", 0), int) and axis < 0
        if node.op in (*MOVES_AXES, *PER_AXIS) and not from_the_end:
            said = f"{node.op} counts its axes, and stacking puts one before them: the pass raises or gives other values; use to_batch=False"
            yield Reason("axis-in-batch-mode", said, (node.id,))
        rank = len(type_of(calls, node.id).shape)
        parent = len(type_of(calls, branches[0][level - 1]).shape)
        for _, index in _others(calls, branches[:1], level):
            kind = argument_type(calls, node.id, index)
            if len(kind.shape) not in (1, rank) or rank != parent:
                said = (
                    f"the argument {kind} of {node.op} is stacked without a place for its missing dimensions: "
                    "the pass raises, or gives wrong values in silence; use to_batch=False"
                )
                yield Reason("scalar-in-batch-mode-wrong", said, (calls.graph.inputs[node.id][index],))


def _columns_moved(calls: Calls, branches: Branches) -> Iterator[Reason]:
    """Yield the hazards of branches that are joined along their last axis.

    CombineParallelDense follows that axis through `expand_dims`; CombineParallelBatchMatmul does not, so a new axis may only be behind it.
    """
    head = calls.graph.nodes[branches[0][0]]
    for level in range(1, len(branches[0])):
        node = calls.graph.nodes[branches[0][level]]
        rank = len(type_of(calls, node.id).shape)
        first = len(type_of(calls, branches[0][level - 1]).shape) + 1
        if node.op == "expand_dims" and (
            head.op == "nn.dense" or axis_of(node, first) >= len(type_of(calls, head.id).shape)
        ):
            continue
        steps = ((type_of(calls, branch[level - 1]).shape, type_of(calls, branch[level]).shape) for branch in branches)
        if (
            node.op in MOVES_AXES
            or (node.op in PER_AXIS and axis_of(node, rank, 1) != rank - 1)
            or any(before[-1:] != after[-1:] for before, after in steps)
        ):
            said = f"{node.op} moves or grows the axis along which the branches are joined: the pass raises or is wrong"
            yield Reason("columns-moved", said, (node.id,))


def _unchecked(calls: Calls, branches: Branches) -> Iterator[Reason]:
    for level in range(1, len(branches[0])):
        taken: dict[int, list[Tensor]] = {}
        for number, index in _others(calls, branches, level):
            node = branches[number][level]
            kind = argument_type(calls, node, index)
            taken.setdefault(index, []).append(kind)
            if not kind.shape or kind.shape[-1] != type_of(calls, branches[number][level - 1]).shape[-1]:
                said = f"the argument {kind} of {calls.graph.nodes[node].op} has no entry for each column; TVM joins it unchecked, and the pass raises"
                yield Reason("unchecked-argument", said, (calls.graph.inputs[node][index],))
        for kinds in taken.values():
            if len({(kind.shape[:-1], kind.dtype) for kind in kinds}) > 1:
                said = f"the arguments {kinds[0]} and others are joined unchecked and do not fit: the pass raises"
                yield Reason("unchecked-argument", said, tuple(branch[level] for branch in branches))


TVM_RULES = (
    Combiner(
        "nn.conv2d",
        "CombineParallelConv2D{{min_num_branches={min}}}",
        _conv_compatible,
        _conv_argument,
        (_conv_heads, partial(_weight_dtype, raises="concatenate"), _channels_moved),
    ),
    Combiner(
        "nn.dense",
        "CombineParallelDense{{min_num_branches={min}}}",
        partial(_dense_compatible, axes=(0, 1)),
        _stacked_argument,
        (_dense_input, partial(_weight_dtype, raises="the pass"), _stacked),
    ),
    Combiner(
        "nn.dense",
        "CombineParallelDense{{min_num_branches={min},to_batch=False}}",
        partial(_dense_compatible, axes=(1,)),
        _joined_argument,
        (_dense_input, partial(_weight_dtype, raises="the pass"), _columns_moved),
    ),
    Combiner(
        "nn.batch_matmul",
        "CombineParallelBatchMatmul{{min_num_branches={min}}}",
        _matmul_compatible,
        # TVM looks at no argument here
        lambda _calls, _pair: None,
        (_columns_moved, _unchecked),
    ),
)
