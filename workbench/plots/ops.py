"""Kinds of operator, each with one colour in every plot."""

from __future__ import annotations

from typing import Any

from workbench.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW

FAMILIES = {
    "convolution": (BLUE, ("conv",)),
    "matrix product": (VERMILION, ("dense", "matmul", "einsum")),
    "softmax and norms": (PURPLE, ("softmax", "norm")),
    "pooling": (YELLOW, ("pool",)),
    "reduction": (ORANGE, ("sum", "mean", "argmax", "argmin", "variance", "prod", "max", "min", "any", "all")),
    "shape and layout": (
        SKY,
        ("reshape", "transpose", "layout", "concat", "split", "slice", "squeeze", "expand_dims", "take", "gather",
         "broadcast_to", "flatten", "pad", "permute", "stack", "tile", "repeat", "copy", "cast", "astype"),
    ),
}  # fmt: skip
ELEMENTWISE, OTHER = ("elementwise", GREEN), ("not known", GREY)


def family(op: Any) -> tuple[str, str]:
    """What kind of operator that is, and its colour.

    >>> family("nn.conv2d")[0], family("relax.matmul")[0], family("nn.relu")[0]
    ('convolution', 'matrix product', 'elementwise')
    """
    if not isinstance(op, str) or not op:
        return OTHER
    last = op.rsplit(".", 1)[-1].lower()
    for name, (colour, parts) in FAMILIES.items():
        if any(part == last if len(part) <= 4 and name == "reduction" else part in last for part in parts):
            return name, colour
    return ELEMENTWISE
