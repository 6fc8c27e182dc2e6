"""Weights for the samples: the same numbers on every machine and in both dialects, in the order they are asked for."""

from __future__ import annotations

import numpy as np


class Weights:
    """Makes seeded arrays and remembers them by name."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.arrays: dict[str, np.ndarray] = {}

    def normal(self, name: str, shape: tuple[int, ...], scale: float = 0.05) -> np.ndarray:
        """Float32 values spread evenly around zero (uniform: 85 million of them for bert must not take seconds)."""
        self.arrays[name] = (self.random.random(shape, dtype=np.float32) - np.float32(0.5)) * np.float32(2 * scale)
        return self.arrays[name]

    def positive(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Float32 values in [0.5, 1.5): scales and variances."""
        self.arrays[name] = self.random.random(shape, dtype=np.float32) + np.float32(0.5)
        return self.arrays[name]

    def int8(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Small integers, so that int8 sums do not overflow."""
        self.arrays[name] = self.random.integers(-2, 3, shape).astype(np.int8)
        return self.arrays[name]
