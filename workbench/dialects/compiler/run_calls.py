"""One call of a kernel in a run, which can be repeated on other inputs, for Relay and Relax alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Made = tuple[int, int]
"a value of a run: the call that made it, numbered from 0, and its place among the outputs of the call"


@dataclass(frozen=True)
class RanCall:
    """A call that has just run. Its tensors are valid until the run continues."""

    function: str
    kernel: Callable[..., object]
    "the compiled function"
    arguments: Sequence[Any]
    "TVM's tensors, and shapes"
    sources: Mapping[int, Made | None]
    "for the place of each tensor that it reads, the value; None for an input or a constant of the program"
    written: tuple[int, ...]
    "the places of the tensors that it writes"
    empty: Callable[..., Any]
    "makes a tensor of a shape and a type on a device"

    def input(self, place: int) -> np.ndarray:
        """Return a copy of the tensor at a place."""
        return np.array(self.arguments[place].numpy())

    def outputs(self) -> list[np.ndarray]:
        """Return copies of the tensors that it wrote."""
        return [self.input(place) for place in self.written]

    def repeated(self, inputs: Mapping[int, np.ndarray]) -> list[np.ndarray]:
        """Run the kernel again into tensors of its own, and return the outputs.

        Parameters
        ----------
        inputs
            The values to read instead of the run's own, by place, with as many elements and the type of the tensor there.
        """
        arguments = list(self.arguments)
        for place in (*inputs, *self.written):
            arguments[place] = self._empty_like(arguments[place])
        for place, value in inputs.items():
            arguments[place].copyfrom(value.reshape(arguments[place].shape))
        self.kernel(*arguments)
        return [arguments[place].numpy() for place in self.written]

    def _empty_like(self, tensor: Any) -> Any:
        return self.empty(tuple(int(extent) for extent in tensor.shape), tensor.dtype, tensor.device)
