"""The conditions of TVM's four combiners on the operators they combine, and their hazards.

CombineParallelConv2D, CombineParallelDense (as a batch_matmul, and as a wider dense) and CombineParallelBatchMatmul of
TVM 0.17 (src/relay/transforms/combine_parallel_*.cc). The hazards were tried one by one; the passes check none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.siblings import Pair, Reason
from workbench.analysis.tensors import Tensor, tensor
from workbench.errors import WorkbenchError
from workbench.graph.model import Node
from workbench.wording import counted

MOVES_AXES = ("expand_dims", "repeat", "tile", "broadcast_to", "broadcast_to_like")
"Operators that are element-wise by pattern kind but may move the axis along which branches are joined."
PER_AXIS = ("nn.bias_add", "nn.prelu")
Branches = tuple[tuple[int, ...], ...]


def type_of(calls: Calls, node: int) -> Tensor:
    """Return the tensor type of a node; a type without known dimensions where it is not a tensor."""
    return tensor(calls.graph.nodes[node].type) or Tensor(("?",), "")


def argument_type(calls: Calls, node: int, index: int) -> Tensor:
    """Return the tensor type of an argument.

    Raises
    ------
    WorkbenchError
        The call has no such argument, which a module that TVM has typed cannot have.
    """
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


class _Combiner:
    op: str
    passes: str

    def supported(self, node: Node) -> bool:
        return node.op == self.op

    def differs(self, calls: Calls, first: int, other: int, names: tuple[str, ...]) -> Reason | None:
        """Return the first of these attributes in which two calls differ."""
        a, b = calls.graph.nodes[first], calls.graph.nodes[other]
        for name in names:
            ours, theirs = a.attrs.get(name), b.attrs.get(name)
            if ours != theirs and not (_unset(ours) and _unset(theirs)):
                if name == "out_dtype" and a.type.endswith(b.type.rpartition(" ")[2]):
                    return Reason(
                        "out-dtype-spelling",
                        "both give the same type, but one names it in out_dtype and the other leaves it out, which TVM takes for a difference",
                        (first, other),
                    )
                return Reason(
                    f"attr:{name}",
                    f"they differ in {name}: {_value_text(ours)} and {_value_text(theirs)}",
                    (first, other),
                )
        return None


def _unset(value: object) -> bool:
    return value is None or value == ""


def _value_text(value: object) -> str:
    return "the default" if _unset(value) else str(value)


def others(calls: Calls, branches: Branches, level: int) -> Iterator[tuple[int, int]]:
    """Yield (branch, argument position) of each argument of a level other than the branches' own values."""
    for number, branch in enumerate(branches):
        for index, source in enumerate(calls.graph.inputs[branch[level]]):
            if source != branch[level - 1]:
                yield number, index


@dataclass(frozen=True)
class Conv2D(_Combiner):
    """CombineParallelConv2D: one convolution with the filters of all, then a slice for each."""

    op: str = "nn.conv2d"
    passes: str = "CombineParallelConv2D{{min_num_branches={min}}}"

    def supported(self, node: Node) -> bool:
        return attr(node, "groups", 1) == 1

    def compatible(self, calls: Calls, first: int, other: int) -> Reason | None:
        names = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_dtype", "out_layout")
        different = self.differs(calls, first, other, names)
        if different:
            return different
        ours, theirs = self._kernel(calls, first), self._kernel(calls, other)
        if ours == theirs:
            return None
        shown = " and ".join("x".join(map(str, size)) for size in (ours, theirs))
        return Reason(
            "kernel-size", f"their kernels are {shown}, and only kernels of one size are put together", (first, other)
        )

    def argument(self, calls: Calls, pair: Pair) -> Reason | None:
        first, other, index = pair.first, pair.other, pair.index
        ours, theirs = argument_type(calls, first, index), argument_type(calls, other, index)
        nodes = tuple(calls.graph.inputs[i][index] for i in (first, other))
        if ours.dtype != theirs.dtype or len(ours.shape) != len(theirs.shape):
            return Reason("level-arg-rank", f"the other arguments are {ours} and {theirs}", nodes)
        channel = self.channel(calls, pair.head)
        position = channel - len(type_of(calls, first).shape) + len(ours.shape)
        reaches = 0 <= position <= channel
        if not reaches or any(
            kind.shape[position] != type_of(calls, node).shape[channel]
            for kind, node in ((ours, first), (theirs, other))
        ):
            return Reason(
                "level-arg-channel",
                f"the argument {ours} has no entry for each channel, so TVM cannot join it along the channels",
                nodes,
            )
        same = all(a == b for i, (a, b) in enumerate(zip(ours.shape, theirs.shape, strict=True)) if i != position)
        return None if same else Reason("level-arg-rank", f"the other arguments are {ours} and {theirs}", nodes)

    def hazards(self, calls: Calls, branches: Branches) -> Iterable[Reason]:
        heads = tuple(branch[0] for branch in branches)
        node = calls.graph.nodes[heads[0]]
        channel = self.channel(calls, heads[0])
        layouts = f"{attr(node, 'data_layout', '')}{attr(node, 'kernel_layout', '')}{attr(node, 'out_layout', '')}"
        if any(character.isdigit() for character in layouts):
            yield Reason(
                "packed-layout", "the layout is packed, and TVM counts its blocks for channels: the pass raises", heads
            )
        if attr(node, "groups", 1) != 1:
            yield Reason(
                "grouped-conv-wrong",
                "these are grouped convolutions; beside one of groups=1 TVM combines them too, and each then reads other channels than before",
                heads,
            )
        if len({argument_type(calls, head, 1).dtype for head in heads}) > 1:
            yield Reason("weight-dtype", "the weights are of different types, and concatenate raises", heads)
        for level in range(1, len(branches[0])):
            yield from self._level_hazards(calls, branches, level, channel)

    def _level_hazards(self, calls: Calls, branches: Branches, level: int, channel: int) -> Iterator[Reason]:
        node = calls.graph.nodes[branches[0][level]]
        for branch in branches:
            before, after = type_of(calls, branch[level - 1]).shape, type_of(calls, branch[level]).shape
            moved = node.op in MOVES_AXES and not (node.op == "expand_dims" and axis_of(node, len(after)) > channel)
            if node.op == "repeat" and axis_of(node, len(before)) != channel:
                moved = False
            if (
                moved
                or len(after) <= channel
                or after[channel] != before[channel]
                or (len(after) != len(before) and node.op != "expand_dims")
            ):
                yield Reason(
                    "channel-moved",
                    f"{node.op} moves or grows the channels, and the slices that follow do not: the pass raises",
                    (node.id,),
                )
                return
        if node.op in PER_AXIS and axis_of(node, len(type_of(calls, node.id).shape), 1) != channel:
            yield Reason(
                "channel-moved", f"{node.op} works along another axis than the channels: the pass raises", (node.id,)
            )

    def channel(self, calls: Calls, node: int) -> int:
        """Return the axis of the channels in a convolution's result."""
        given = calls.graph.nodes[node]
        layout = str(attr(given, "out_layout", "") or attr(given, "data_layout", "NCHW"))
        return max(layout.find("C"), 0)

    def _kernel(self, calls: Calls, node: int) -> tuple[int | str, ...]:
        layout = [c for c in str(attr(calls.graph.nodes[node], "kernel_layout", "OIHW")) if c.isalpha() and c.isupper()]
        shape = argument_type(calls, node, 1).shape
        if not {"H", "W"} <= set(layout) or len(shape) < len(layout):
            return shape
        return shape[layout.index("H")], shape[layout.index("W")]


def axis_of(node: Node, rank: int, default: int = 0) -> int:
    """Return the axis attribute, counted from the front."""
    axis = attr(node, "axis", default)
    axis = axis if isinstance(axis, int) else default
    return axis if axis >= 0 else axis + rank


@dataclass(frozen=True)
class DenseAsBatch(_Combiner):
    """CombineParallelDense: a batch_matmul of the stacked weights, then a split."""

    op: str = "nn.dense"
    passes: str = "CombineParallelDense{{min_num_branches={min}}}"

    def compatible(self, calls: Calls, first: int, other: int) -> Reason | None:
        return self.differs(calls, first, other, ("out_dtype",)) or _weights(calls, first, other, (0, 1))

    def argument(self, calls: Calls, pair: Pair) -> Reason | None:
        first, other, index = pair.first, pair.other, pair.index
        ours, theirs = argument_type(calls, first, index), argument_type(calls, other, index)
        if ours == theirs:
            return None
        nodes = tuple(calls.graph.inputs[i][index] for i in (first, other))
        return Reason(
            "level-arg-rank", f"the other arguments are {ours} and {theirs}, and only equal shapes are stacked", nodes
        )

    def hazards(self, calls: Calls, branches: Branches) -> Iterable[Reason]:
        yield from dense_hazards(calls, branches)
        for level in range(1, len(branches[0])):
            node = calls.graph.nodes[branches[0][level]]
            from_the_end = node.op == "expand_dims" and isinstance(axis := attr(node, "axis", 0), int) and axis < 0
            if node.op in (*MOVES_AXES, *PER_AXIS) and not from_the_end:
                yield Reason(
                    "axis-in-batch-mode",
                    f"{node.op} counts its axes, and stacking puts one before them: the pass raises or gives other values; use to_batch=False",
                    (node.id,),
                )
            rank = len(type_of(calls, node.id).shape)
            parent = len(type_of(calls, branches[0][level - 1]).shape)
            for _, index in others(calls, branches[:1], level):
                found = len(argument_type(calls, node.id, index).shape)
                if found not in (1, rank) or rank != parent:
                    yield Reason(
                        "scalar-in-batch-mode-wrong",
                        f"the argument {argument_type(calls, node.id, index)} of {node.op} is stacked without a place for its missing dimensions: "
                        "the pass raises, or gives wrong values in silence; use to_batch=False",
                        (calls.graph.inputs[node.id][index],),
                    )


@dataclass(frozen=True)
class DenseAsDense(_Combiner):
    """CombineParallelDense with to_batch=False: one dense with the units of all, then a slice for each."""

    op: str = "nn.dense"
    passes: str = "CombineParallelDense{{min_num_branches={min},to_batch=False}}"

    def compatible(self, calls: Calls, first: int, other: int) -> Reason | None:
        return self.differs(calls, first, other, ("out_dtype",)) or _weights(calls, first, other, (1,))

    def argument(self, calls: Calls, pair: Pair) -> Reason | None:
        first, other, index = pair.first, pair.other, pair.index
        ours, theirs = argument_type(calls, first, index), argument_type(calls, other, index)
        nodes = tuple(calls.graph.inputs[i][index] for i in (first, other))
        longer = any(
            len(kind.shape) > len(type_of(calls, node).shape) for kind, node in ((ours, first), (theirs, other))
        )
        if ours.dtype != theirs.dtype or len(ours.shape) != len(theirs.shape) or longer:
            return Reason("level-arg-rank", f"the other arguments are {ours} and {theirs}", nodes)
        if ours.shape[:-1] != theirs.shape[:-1]:
            return Reason(
                "level-arg-rank", f"the other arguments, {ours} and {theirs}, differ before the last axis", nodes
            )
        return None

    def hazards(self, calls: Calls, branches: Branches) -> Iterable[Reason]:
        yield from dense_hazards(calls, branches)
        yield from last_axis_hazards(calls, branches)


@dataclass(frozen=True)
class BatchMatmul(_Combiner):
    """CombineParallelBatchMatmul: one batch_matmul with the columns of all, then a slice for each."""

    op: str = "nn.batch_matmul"
    passes: str = "CombineParallelBatchMatmul{{min_num_branches={min}}}"

    def compatible(self, calls: Calls, first: int, other: int) -> Reason | None:
        for node in (first, other):
            given = calls.graph.nodes[node]
            # the attributes that the graph leaves out are at their defaults, False
            if attr(given, "transpose_a", False) or not attr(given, "transpose_b", False):
                return Reason(
                    "attr:transpose_b",
                    "TVM combines only batch_matmul with transpose_a=False and transpose_b=True",
                    (node,),
                )
        ours, theirs = argument_type(calls, first, 1), argument_type(calls, other, 1)
        different = self.differs(calls, first, other, ("out_dtype",))
        if different:
            return different
        same = (
            ours.dtype == theirs.dtype
            and type_of(calls, first).dtype == type_of(calls, other).dtype
            and len(ours.shape) == len(theirs.shape) == 3
            and ours.shape[0] == theirs.shape[0]
        )
        return None if same else Reason("weight-shape", f"the right sides are {ours} and {theirs}", (first, other))

    def argument(self, calls: Calls, pair: Pair) -> Reason | None:  # noqa: ARG002  TVM looks at nothing here
        return None

    def hazards(self, calls: Calls, branches: Branches) -> Iterable[Reason]:
        yield from last_axis_hazards(calls, branches)
        for level in range(1, len(branches[0])):
            taken: dict[int, list[Tensor]] = {}
            for number, index in others(calls, branches, level):
                node = branches[number][level]
                found = argument_type(calls, node, index)
                taken.setdefault(index, []).append(found)
                if not found.shape or found.shape[-1] != type_of(calls, branches[number][level - 1]).shape[-1]:
                    yield Reason(
                        "unchecked-argument",
                        f"the argument {found} of {calls.graph.nodes[node].op} has no entry for each column; TVM joins it unchecked, and the pass raises",
                        (calls.graph.inputs[node][index],),
                    )
            for kinds in taken.values():
                if len({(kind.shape[:-1], kind.dtype) for kind in kinds}) > 1:
                    yield Reason(
                        "unchecked-argument",
                        f"the arguments {kinds[0]} and others are joined unchecked and do not fit: the pass raises",
                        tuple(branch[level] for branch in branches),
                    )


def _weights(calls: Calls, first: int, other: int, axes: tuple[int, ...]) -> Reason | None:
    ours, theirs = argument_type(calls, first, 1), argument_type(calls, other, 1)
    if all(ours.shape[axis : axis + 1] == theirs.shape[axis : axis + 1] for axis in axes):
        return None
    return Reason("weight-shape", f"the weights are {ours} and {theirs}", (first, other))


def dense_hazards(calls: Calls, branches: Branches) -> Iterator[Reason]:
    """Yield the hazards of dense in both modes."""
    heads = tuple(branch[0] for branch in branches)
    if len(argument_type(calls, heads[0], 0).shape) != 2:
        yield Reason(
            "input-rank",
            f"the input is {argument_type(calls, heads[0], 0)}; TVM takes it for a matrix and raises",
            heads,
        )
    if len({argument_type(calls, head, 1).dtype for head in heads}) > 1:
        yield Reason("weight-dtype", "the weights are of different types, and the pass raises", heads)


def last_axis_hazards(calls: Calls, branches: Branches) -> Iterator[Reason]:
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
        moved = node.op in MOVES_AXES or (node.op in PER_AXIS and axis_of(node, rank, 1) != rank - 1)
        for branch in branches:
            before, after = type_of(calls, branch[level - 1]).shape, type_of(calls, branch[level]).shape
            moved = moved or before[-1:] != after[-1:]
        if moved:
            yield Reason(
                "columns-moved",
                f"{node.op} moves or grows the axis along which the branches are joined: the pass raises or is wrong",
                (node.id,),
            )


TVM_RULES = (Conv2D(), DenseAsBatch(), DenseAsDense(), BatchMatmul())
