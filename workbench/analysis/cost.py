"""Floating-point operations of operators, from types and attributes alone; None where these do not determine it.

One for each addition, multiplication, comparison or elementary function of one element, so a multiply-accumulate is two.
Moving, selecting and converting elements counts 0. Operators on integers are counted the same way. An operator whose count
depends on its implementation (a Winograd convolution, a sort) is unknown, which is not zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from workbench.analysis.tensors import tensors
from workbench.graph.model import Graph, Node

_AXIS = re.compile(r"(?<!\d)(\d*)([A-Za-z])")
_DIGITS = re.compile(r"(?<=\D)\d+$")


@dataclass(frozen=True)
class Operands:
    """The data that the cost of an operator depends on."""

    inputs: Sequence[Sequence[int]]
    "shapes"
    outputs: Sequence[Sequence[int]]
    "shapes"
    attrs: Mapping[str, Any]

    @property
    def out(self) -> int:
        """Elements of the first result."""
        return prod(self.outputs[0])

    @property
    def first(self) -> int:
        """Elements of the first argument."""
        return prod(self.inputs[0])


def flops(graph: Graph, nodes: Iterable[int]) -> int | None:
    """Return the operations of several nodes, such as a kernel's; None if any operator's count is unknown.

    Raises IndexError: the graph has no such node.
    """
    total = 0
    for place in nodes:
        node = graph.nodes[place]
        if node.kind != "op":
            continue
        one = of_node(graph, node)
        if one is None:
            return None
        total += one
    return total


def of_node(graph: Graph, node: Node) -> int | None:
    """Return the operations of one operator call; None if unknown."""
    inputs = [shape for source in graph.inputs[node.id] for shape in shapes(graph.nodes[source].type)]
    outputs = shapes(node.type)
    rule = _RULES.get(canonical(node.op))
    if rule is None or not outputs or None in inputs or None in outputs:
        return None
    known = Operands([s for s in inputs if s is not None], [s for s in outputs if s is not None], node.attrs)
    try:
        return rule(known)
    except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        # a graph from elsewhere may write attributes in another form: the count is then unknown
        return None


def canonical(op: str) -> str:
    """Return the operator's name without its dialect's prefix and without a number that the compiler appended.

    >>> canonical("relax.nn.relu"), canonical("tir_exp"), canonical("matmul12"), canonical("log2")
    ('nn.relu', 'exp', 'matmul', 'log2')
    """
    for name in (op, _DIGITS.sub("", op)):
        bare = name.removeprefix("relax.").removeprefix("tir_")
        for known in (bare, f"nn.{bare}"):
            if known in _RULES:
                return known
    return _DIGITS.sub("", op).removeprefix("relax.")


@lru_cache(maxsize=65536)
def shapes(type: str) -> list[tuple[int, ...] | None]:
    """Return the shapes of the tensors of a type, a tuple's one by one; None for an unknown shape.

    >>> shapes("(Tensor[(1, 8), float32], Tensor[(?), int8])"), shapes('R.Tensor((4,), dtype="int8")')
    ([(1, 8), None], [(4,)])
    """
    return [tuple(int(d) for d in each.shape) if each.known else None for each in tensors(type)]


def _matmul(o: Operands) -> int:
    return 2 * o.out * o.inputs[0][-2 if o.attrs.get("transpose_a") else -1]


def _axes(layout: str, shape: Sequence[int], letters: str) -> int:
    """Return the product of the dimensions that a layout names by one of these letters, blocks included (`NCHW16c`)."""
    names = [letter for _, letter in _AXIS.findall(layout)]
    if len(names) != len(shape):
        raise ValueError(f"{layout} is not a layout of {len(shape)} dimensions")
    return prod(size for name, size in zip(names, shape, strict=True) if name.upper() in letters)


def _layouts(o: Operands) -> tuple[str, str]:
    spatial = "DHW"[5 - len(o.inputs[0]) :] if len(o.inputs[0]) <= 5 else "HW"
    data = str(o.attrs.get("data_layout") or f"NC{spatial}")
    return data, str(o.attrs.get("kernel_layout") or f"OI{spatial}")


def _convolution(o: Operands) -> int:
    data, kernel = _layouts(o)
    window = _axes(kernel, o.inputs[1], "DHW")
    channels = _axes(data, o.inputs[0], "C")
    if "groups" in o.attrs or "kernel_layout" in o.attrs or "strides" in o.attrs:
        return 2 * o.out * window * channels // int(o.attrs.get("groups", 1))
    # without attributes (Relax after LegalizeOps) the weight's shape gives the number of groups
    if o.inputs[1][0] != o.outputs[0][1] or channels % o.inputs[1][1]:
        raise ValueError("the layout is not known")
    return 2 * o.out * window * o.inputs[1][1]


def _transposed_convolution(o: Operands) -> int:
    data, kernel = _layouts(o)
    channels = _axes(data, o.outputs[0], "C")
    return 2 * o.first * _axes(kernel, o.inputs[1], "DHW") * channels // int(o.attrs.get("groups", 1))


def _pool(o: Operands) -> int:
    return o.out * prod(map(int, o.attrs["pool_size"]))


def _every(times: int) -> Callable[[Operands], int]:
    return lambda o: times * o.out


def _each_input(times: int) -> Callable[[Operands], int]:
    return lambda o: times * o.first


_TABLE: tuple[tuple[Callable[[Operands], int], str], ...] = (
    (
        _every(1),
        (
            "add subtract multiply divide floor_divide power maximum minimum mod floor_mod negative abs exp log log2 "
            "log10 sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh sigmoid erf floor ceil "
            "round trunc sign nn.relu nn.bias_add equal not_equal less less_equal greater greater_equal logical_and "
            "logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not left_shift right_shift "
            "fast_exp fast_tanh fast_erf square reciprocal"
        ),
    ),
    # what moves, selects and converts
    (
        _every(0),
        (
            "reshape transpose expand_dims squeeze broadcast_to broadcast_to_like concatenate split strided_slice "
            "slice_like take gather gather_nd nn.pad nn.batch_flatten copy cast cast_like where full full_like zeros "
            "ones zeros_like ones_like reverse tile repeat stack layout_transform arange one_hot device_copy "
            "on_device annotation.stop_fusion nn.dropout reinterpret meshgrid nn.depth_to_space nn.space_to_depth "
            "flatten permute_dims shape_of contrib_reverse_reshape"
        ),
    ),
    (_each_input(1), "sum max min prod all any argmax argmin nn.global_avg_pool2d nn.global_max_pool2d"),
    (_every(2), "clip nn.leaky_relu nn.prelu nn.silu"),
    (_every(5), "nn.gelu"),
    (_every(4), "nn.batch_norm"),
    # of an element of the input: for softmax the maximum, a difference, a power, a sum and a quotient
    (_each_input(5), "nn.softmax nn.log_softmax nn.fast_softmax nn.rms_norm"),
    (_each_input(7), "nn.layer_norm"),
    (lambda o: o.first + o.out, "mean"),
    (lambda o: 3 * o.first + o.out, "variance"),
    (_matmul, "nn.dense nn.matmul matmul nn.batch_matmul nn.contrib_dense_pack"),
    (_convolution, "nn.conv1d nn.conv2d nn.conv3d nn.contrib_conv2d_NCHWc nn.contrib_depthwise_conv2d_NCHWc"),
    (_transposed_convolution, "nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose"),
    (_pool, "nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d"),
)
"how the operations are counted, and the operators that are counted so"
_RULES = {name: rule for rule, names in _TABLE for name in names.split()}
