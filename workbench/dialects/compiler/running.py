"""A build on a device, and the calls of a run: one can be timed by itself, and repeated on other inputs; for Relay and Relax alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class KernelTime:
    """The time of one call of a kernel."""

    function: str
    samples: list[float]
    "seconds of one run"


class Running(ABC):
    """A compiled workload with its inputs, on a device."""

    method: str
    "how `run` measures time"
    kernel_method: str
    "how `kernels` measures time"

    @abstractmethod
    def run(self, number: int) -> float:
        """Run it `number` times with the same inputs and return the mean seconds of one run."""

    @abstractmethod
    def outputs(self) -> list[np.ndarray]:
        """Return the outputs of one run, tuples flattened."""

    @abstractmethod
    def kernels(self, budget: float) -> list[KernelTime]:
        """Time each call, in execution order, in about `budget` seconds; calls that run nothing may be left out."""

    @abstractmethod
    def calls(self) -> Iterator[RanCall]:
        """Run once and yield each call of a compiled function after it ran; the run waits until the next one is taken."""


Made = tuple[int, int]
"a value of a run: the call that made it, numbered from 0, and its place among the outputs of the call"


_BESIDE = {"f": (-3e4, 3e4), "i": (0, 1), "u": (0, 1)}
"kind of a type -> two values to put beside a tensor: integers that are safe as indices"
_ALIGNED = 64
"bytes: what a kernel relies on"
_MOST_BESIDE = 1 << 24
"bytes"


REPEATS = 5
MOST_RUNS = 10_000
SAMPLE_SECONDS = 0.005
"a repeat takes this time, so that the clock's resolution does not matter"


def evaluated(module: Any, function: str, arguments: Sequence[Any], device: Any, budget: float) -> list[float]:
    """Time one run REPEATS times, in about `budget` seconds in all at most; one warm-up run is not counted."""

    def samples(number: int, repeat: int) -> list[float]:
        timed = module.time_evaluator(function, device, number=number, repeat=repeat)
        return [float(seconds) for seconds in timed(*arguments).results]

    once = samples(1, 1)[0]
    seconds = min(budget / REPEATS, SAMPLE_SECONDS)
    return samples(max(1, min(MOST_RUNS, int(seconds / max(once, 1e-7)))), REPEATS)


def from_dlpack(value: np.ndarray) -> Any:
    """Return a tensor of TVM on the memory of an array."""
    import tvm

    return (tvm.runtime if hasattr(tvm.runtime, "from_dlpack") else tvm.nd).from_dlpack(value)


def _surrounded(value: np.ndarray, beside: float) -> np.ndarray:
    """Return the values with memory before and behind them that holds another value."""
    width = -(-min(max(value.nbytes, 4096), _MOST_BESIDE) // _ALIGNED) * _ALIGNED
    raw = np.empty(2 * width + value.nbytes + _ALIGNED + value.itemsize, "uint8")
    start = -raw.ctypes.data % _ALIGNED
    end = start + (len(raw) - start) // value.itemsize * value.itemsize
    whole, first = raw[start:end].view(value.dtype), width // value.itemsize
    whole.fill(beside)
    whole[first : first + value.size] = value.reshape(-1)
    return whole[first : first + value.size].reshape(value.shape)


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

        `inputs`: the values to read instead of the run's own, by place, with as many elements and the type of the
        tensor there.
        """
        arguments = list(self.arguments)
        for place in (*inputs, *self.written):
            arguments[place] = self._empty_like(arguments[place])
        for place, value in inputs.items():
            arguments[place].copyfrom(value.reshape(arguments[place].shape))
        self.kernel(*arguments)
        return [arguments[place].numpy() for place in self.written]

    def reads_outside(self) -> bool:
        """Return whether the outputs depend on the memory beside the inputs, tried with two surroundings; on a CPU only."""
        first, second = (self._among(place) for place in range(2))
        return any(ours.tobytes() != theirs.tobytes() for ours, theirs in zip(first, second, strict=True))

    def _among(self, surroundings: int) -> list[np.ndarray]:
        """Run the kernel again with other memory around its inputs, and return the outputs."""
        arguments = list(self.arguments)
        for place in self.written:
            arguments[place] = self._empty_like(arguments[place])
            arguments[place].copyfrom(np.zeros(self.arguments[place].shape, arguments[place].numpy().dtype))
        for place in self.sources:
            value = self.arguments[place].numpy()
            if place not in self.written and value.dtype.kind in _BESIDE:
                arguments[place] = from_dlpack(_surrounded(value, _BESIDE[value.dtype.kind][surroundings]))
        self.kernel(*arguments)
        return [arguments[place].numpy() for place in self.written]

    def _empty_like(self, tensor: Any) -> Any:
        return self.empty(tuple(int(extent) for extent in tensor.shape), tensor.dtype, tensor.device)
