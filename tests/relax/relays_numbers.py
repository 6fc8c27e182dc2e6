"""What Relay's TVM computed, as `tests/relay/operator_cases.py` saved it: texts, inputs, outputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SMALL: dict[str, dict[str, int]] = {
    "bert": {"layers": 2, "hidden": 32, "seq": 8, "heads": 2},
    "resnet18": {"image": 32, "width": 8},
}
"The sizes that the samples were saved at."


class Saved:
    """One of the two files."""

    def __init__(self, name: str) -> None:
        self.arrays = np.load(Path(__file__).parents[1] / "data" / name)
        self.texts: dict[str, str] = json.loads(self.arrays["texts"].tobytes())

    def inputs(self, name: str) -> dict[str, np.ndarray]:
        keys = [key for key in self.arrays.files if key.startswith(f"{name}/") and not key.endswith("/out")]
        return {key.rpartition("/")[2]: self.arrays[key] for key in keys}

    def output(self, name: str) -> np.ndarray:
        return self.arrays[f"{name}/out"]


OPERATORS = Saved("relay_operators.npz")
SAMPLES = Saved("relay_samples.npz")
