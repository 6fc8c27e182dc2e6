"""Colours of plots and Graphviz pictures, safe for colour-blind readers. A test holds the page's own (js/) equal."""

from __future__ import annotations

from dataclasses import dataclass

# Okabe and Ito's palette
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"
MERGED, CLUSTER = "#B0578D", "#AEBCCD"
"nodes merged or split in a diff; the box around a kernel"


@dataclass(frozen=True)
class Theme:
    """The colours of text and lines, for a transparent background."""

    text: str
    faint: str
    "lines and grids"
    bar: str
    "bars that are neither best nor worst, and a difference that may be noise"
    accent: str
    "emphasis; the CPU"
    dim: str
    "secondary text"
    gpu: str
    good: str
    "fewer, faster; always with a sign or a word beside it"
    bad: str
    band: str
    "the range in which a difference is noise"
    page: str
    "the page's own colour, for a picture in a file of its own"


LIGHT = Theme(
    text="#333333", faint="#CCCCCC", bar="#9DB8CC", accent=BLUE, dim="#666666", gpu="#B87A00",
    good="#00795A", bad="#B84F00", band="#E9EDF0", page="#FFFFFF",
)  # fmt: skip
DARK = Theme(
    text="#DDDDDD", faint="#555555", bar="#5B7B92", accent=SKY, dim="#A5A5A5", gpu=ORANGE,
    good="#2BC49A", bad="#F08A4B", band="#2B3238", page="#111111",
)  # fmt: skip

DTYPES = {
    "int8": BLUE, "uint8": BLUE, "int16": GREEN, "float16": GREEN, "bfloat16": GREEN, "int32": VERMILION,
    "int64": MERGED, "float64": MERGED, "bool": "#8A7A00",
}  # fmt: skip
"data type -> colour, as js/render/dtypes.ts; GREY for others and for float32, which most models are made of"
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


def family(op: object) -> tuple[str, str]:
    """Return the kind of an operator, and its colour.

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
