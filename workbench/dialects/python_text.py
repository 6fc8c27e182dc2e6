"""Python expressions as text: strings and arrays."""

from __future__ import annotations

import base64
import zlib

import numpy as np

SHORT = 64
"elements of an array that is written as a list"


def literal(text: str) -> str:
    """Return the expression of a string; several lines stay several lines where that is safe.

    >>> print(literal("a"), literal("it's"))
    'a' "it's"
    """
    safe = "\n" in text and "\\" not in text and '"""' not in text and not text.endswith('"') and text.isascii()
    return f'"""{text}"""' if safe and text.replace("\n", "").isprintable() else repr(text)


def array(values: np.ndarray) -> str:
    """Return the expression of an array, with numpy as `np`; a long one is compressed.

    >>> array(np.ones((2, 3), "int8")), array(np.array([1.5, 2], "float32"))
    ("np.full((2, 3), 1, 'int8')", "np.array([1.5, 2.0], 'float32')")
    """
    dtype = str(values.dtype)
    first = values.reshape(-1)[:1].tolist()
    if first and np.isfinite(first[0]) and values.ndim and (values == first[0]).all():
        return f"np.full({values.shape!r}, {first[0]!r}, {dtype!r})"
    if values.size <= SHORT and np.isfinite(values.astype("float64")).all():
        return f"np.array({values.tolist()!r}, {dtype!r})"
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(values).tobytes())).decode()
    return f"np.frombuffer(zlib.decompress(base64.b85decode({packed!r})), {dtype!r}).reshape({values.shape!r})"
