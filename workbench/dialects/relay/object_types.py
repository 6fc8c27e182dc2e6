"""Types of TVM's objects from their text, and values for constants that the text only names."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.paste.free import tensor
from workbench.errors import LoadError

MOST_BRACKETS = 64
"TVM's parser reads types recursively"
SEED = 0


def relay_type(text: str) -> Any:
    """Return TVM's type for its text."""
    simple = tensor(text)
    if simple is not None and all(dim == "?" or (dim.isdecimal() and len(dim) < 19) for dim in simple.shape):
        dims = [relay.Any() if dim == "?" else int(dim) for dim in simple.shape]
        try:
            return relay.TensorType(dims, simple.dtype)
        except (tvm.TVMError, ValueError, OverflowError):
            raise LoadError(f"{text[:80]} is not a type that TVM reads") from None
    if sum(text.count(mark) for mark in "([{") > MOST_BRACKETS * 16 or _depth(text) > MOST_BRACKETS:
        raise LoadError(f"a type is nested too deeply: {text[:60]}...")
    try:
        with as_error(LoadError):
            function = tvm.relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {text}) {{ %x }}')["main"]
    except (tvm.TVMError, LoadError):
        raise LoadError(f"{text[:80]} is not a type that TVM reads") from None
    return function.params[0].type_annotation


def _depth(text: str) -> int:
    deepest = depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    return deepest


def type_of(array: Any) -> str:
    """Return the type of an array as in Relay's text."""
    values = array if hasattr(array, "dtype") and hasattr(array, "shape") else np.asarray(array)
    return f"Tensor[({', '.join(map(str, values.shape))}), {values.dtype}]" if len(values.shape) else str(values.dtype)


def random_values(index: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return random values: positive, so that a variance has a square root; small, so that sums stay finite.

    For large arrays the first million values are drawn and repeated.
    """
    random = np.random.default_rng([SEED, index])
    drawn = min(prod(shape), 1 << 20)
    if dtype.startswith(("int", "uint", "bool")):
        values = random.integers(0, 2 if dtype == "bool" else 5, drawn)
    else:
        values = random.uniform(0.05, 1, drawn)
    return np.resize(values.astype("float32" if dtype == "bfloat16" else dtype), shape)


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
"operators that TVM registers without a type of attributes, and the name of the type that it uses for them"


def attribute_type(op: tvm.ir.Op) -> str:
    """Return the key of the type of an operator's attributes; "" if it has none."""
    kind = UNREGISTERED.get(op.name, "")
    return str(op.attrs_type_key) or (f"relay.attrs.{kind}Attrs" if kind else "")
