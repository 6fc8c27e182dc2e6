"""The type of each Relay operator's attributes."""

from __future__ import annotations

import tvm

UNREGISTERED = {
    "annotation.cast_hint": "CastHint",
    "annotation.compiler_begin": "Compiler",
    "annotation.compiler_end": "Compiler",
    "annotation.with_funcid": "WithFuncId",
    "collapse_sum_to": "InitOp",
    "cumprod": "Scanop",
    "cumsum": "Scanop",
    "dft": "DFT",
    "dyn.expand_dims": "DynExpandDims",
    "nn.dilate": "Dilate",
    "scatter_elements": "ScatterElements",
    "scatter_nd": "ScatterND",
    "stft": "Stft",
    "trilu": "Trilu",
    "unique": "Unique",
    "vision.all_class_non_max_suppression": "AllClassNonMaximumSuppression",
    "vision.get_valid_counts": "GetValidCounts",
    "vision.non_max_suppression": "NonMaximumSuppression",
    "vision.proposal": "Proposal",
    "vision.regular_non_max_suppression": "RegularNonMaximumSuppression",
    "vision.roi_align": "ROIAlign",
    "vision.roi_pool": "ROIPool",
}
"operators that TVM registers without a type of attributes, and the name of the type that it gives them"


def attribute_type(op: tvm.ir.Op) -> str:
    """Return the key of the type of an operator's attributes; "" where it has none."""
    kind = UNREGISTERED.get(op.name, "")
    return str(op.attrs_type_key) or (f"relay.attrs.{kind}Attrs" if kind else "")
