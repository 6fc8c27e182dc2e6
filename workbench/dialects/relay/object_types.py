"""Types of TVM's objects out of their text, and values for constants that the text only names."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relay

from workbench.dialects.relay.paste.free import tensor
from workbench.errors import LoadError

MOST_BRACKETS = 64
"TVM's parser reads types, by recursion"
SEED = 0


def relay_type(text: str) -> Any:
    """A type of TVM out of its text."""
    simple = tensor(text)
    if simple is not None and all(dim.isdigit() or dim == "?" for dim in simple.shape):
        dims = [relay.Any() if dim == "?" else int(dim) for dim in simple.shape]
        return relay.TensorType(dims, simple.dtype)
    if sum(text.count(mark) for mark in "([{") > MOST_BRACKETS * 16 or _depth(text) > MOST_BRACKETS:
        raise LoadError(f"a type is nested too deeply: {text[:60]}...")
    try:
        function = tvm.relay.parse(f'#[version = "0.0.5"]\ndef @main(%x: {text}) {{ %x }}')["main"]
    except (tvm.TVMError, tvm.error.DiagnosticError):
        raise LoadError(f"{text[:80]} is no type that TVM reads") from None
    return function.params[0].type_annotation


def _depth(text: str) -> int:
    deepest = depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    return deepest


def type_of(array: Any) -> str:
    """The type of an array as Relay's text has it."""
    values = array if hasattr(array, "dtype") and hasattr(array, "shape") else np.asarray(array)
    return f"Tensor[({', '.join(map(str, values.shape))}), {values.dtype}]" if len(values.shape) else str(values.dtype)


def random_values(index: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Positive values, so that a variance among them has a square root; small, so that sums stay finite."""
    random = np.random.default_rng([SEED, index])
    if dtype.startswith(("int", "uint", "bool")):
        return random.integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype)
    return random.uniform(0.05, 1, shape).astype("float32" if dtype == "bfloat16" else dtype)
