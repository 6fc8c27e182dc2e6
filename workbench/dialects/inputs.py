"""Random inputs that two builds of one workload get alike, whatever its dialect and the order of its parameters."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np


def random_values(name: str, shape: Sequence[int], dtype: str, seed: int) -> np.ndarray:
    """Values for the input `name`: floats in [-3, 3), integers in [-4, 4] (from 0 for unsigned ones), truth values.

    Negative and fractional on purpose: a cast that forgets a sign or a rounding must show. Small, because integers may
    be indices.
    """
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if dtype.startswith("bool"):
        return random.integers(0, 2, shape).astype("bool")
    if dtype.startswith("uint"):
        return random.integers(0, 5, shape).astype(dtype)
    if dtype.startswith("int"):
        return random.integers(-4, 5, shape).astype(dtype)
    return random.uniform(-3, 3, shape).astype(dtype)
