"""The colours of the page, plots and Graphviz pictures, safe for colour-blind readers. `make messages` writes the page's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# Okabe and Ito's palette
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#999999"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"


class Shade(NamedTuple):
    """A colour on a light and on a dark page."""

    light: str
    dark: str


_BLUES, _GREENS = Shade(BLUE, SKY), Shade(GREEN, "#2FC79B")
_REDS, _PINKS = Shade(VERMILION, "#FF8A3C"), Shade("#B0578D", "#E08FBD")
NEUTRAL = Shade(GREY, GREY)

PAGE = {
    "background": Shade("#FFFFFF", "#111111"), "surface": Shade("#FFFFFF", "#1C1C1E"), "raised": Shade("#F1F3F4", "#2B2B2E"),
    "ink": Shade("#212121", "#E6E6E6"), "dim": Shade("#616161", "#A6A6A6"), "line": Shade("#E0E0E0", "#3A3A3D"),
    "accent": Shade("#1976D2", "#64B5F6"), "box": Shade("#FBFBFC", "#26282C"), "box-line": Shade("#B4B9C0", "#5B616A"),
    "edge": Shade("#A3A9B2", "#6F7680"), "tint": Shade("#567094", "#6F96C8"),
    "group-line": Shade("#D5D9DE", "#3C4148"), "kernel-line": Shade("#AEBCCD", "#50627A"),
    "changed": _BLUES, "removed": _REDS, "added": _GREENS, "merged": _PINKS,
    "orange": Shade(ORANGE, "#F0B429"), "sky": Shade(SKY, SKY),
}  # fmt: skip
"CSS variable `--wb-NAME` -> its colour; JupyterLab's theme replaces some. A mark of a diff always has a sign too."
DTYPES = {
    "int8": _BLUES, "uint8": _BLUES, "int16": _GREENS, "float16": _GREENS, "bfloat16": _GREENS, "int32": _REDS,
    "int64": _PINKS, "float64": _PINKS, "bool": Shade("#8A7A00", "#D8C545"),
}  # fmt: skip
"data type -> colour; none for float32, which most models are made of"


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
