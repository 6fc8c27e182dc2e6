"""The inputs of runs: random ones that are the same for two builds of one workload, for any dialect and order of parameters, or given ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import LoadError, MeasureError, UnknownName

if TYPE_CHECKING:
    from workbench.dialects.base import Workload

Inputs = Mapping[str, Any]
"input -> array; of a tuple a tuple of arrays, of a shape its numbers"


EDGES = -1
"a seed: a third of the values are those at which operators differ: zeros of both signs, ones, the largest and the smallest"


def with_inputs(workload: Workload, inputs: Inputs | None) -> Workload:
    """Return the workload whose runs get these values; inputs without a value get random ones.

    Raises UnknownName or LoadError: the program has no input of a name, or the values have no names.
    """
    if not inputs:
        return workload
    if not isinstance(inputs, Mapping):
        raise LoadError("inputs= has no names; give a dictionary, inputs={'x': array}")
    names = [node.op for node in workload.graph.nodes if node.kind == "param" and node.op not in workload.params]
    ours = {plain_name(name): name for name in names}
    flat: dict[str, np.ndarray] = {}
    for given, value in inputs.items():
        name = given if given in names else ours.get(plain_name(str(given)))
        if name is None:
            raise UnknownName("input", str(given), names)
        flat.update(_flat(name, value))
    return replace(workload, inputs=flat, choices={})


def _flat(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, (tuple, list)) and not all(isinstance(each, int) for each in value):
        for place, each in enumerate(value):
            yield from _flat(f"{name}.{place}", each)
        return
    to_numpy = getattr(value, "numpy", None)  # TVM's and PyTorch's tensors
    array = np.asarray(value if to_numpy is None else to_numpy())
    if array.dtype == object:
        raise LoadError(f"inputs[{name!r}] is a {type(value).__name__}; give an array of numbers")
    yield name, array


def values_of(workload: Workload, name: str, shape: Sequence[object], dtype: str, seed: int) -> np.ndarray:
    """Return the values of an input: the given ones, or random ones.

    Raises MeasureError: the given ones have another shape or type.
    """
    given = workload.inputs.get(name)
    if given is None:
        return random_values(name, [int(str(each)) for each in shape], dtype, seed, limit_of(workload, name, dtype))
    fits = len(shape) == given.ndim and all(
        size == extent for size, extent in zip(shape, given.shape, strict=True) if isinstance(size, int)
    )
    if not fits or str(given.dtype) != dtype:
        takes = f"({', '.join(map(str, shape))}) {dtype}"
        raise MeasureError(f"inputs[{name!r}] is {given.shape} {given.dtype}, and the program takes {takes}")
    return given


def random_values(name: str, shape: Sequence[int], dtype: str, seed: int, below: int | None = None) -> np.ndarray:
    """Return values for an input: floats in [-3, 3), integers in [-4, 4] (unsigned ones from 0), truth values.

    They are negative and fractional to expose a cast that drops a sign or a rounding.

    `below`: for an input of indices, the size of the indexed dimension: a larger index reads memory outside the
    program's.
    """
    method, low, high, kind = _distribution(dtype, below)
    random = np.random.default_rng([abs(seed), _key(name)])
    values = getattr(random, method)(low, high, shape).astype(kind)
    return values if seed >= 0 else np.where(random.random(shape) < 1 / 3, _edges(random, shape, kind, below), values)


def _edges(random: np.random.Generator, shape: Sequence[int], kind: str, below: int | None) -> np.ndarray:
    """Return values at the edges of a type; of 32 bits and more only moderate ones, as their overflow has no defined result."""
    if below is not None:
        edges = [0, max(0, below - 1)]
    elif kind == "bool":
        edges = [False, True]
    elif kind.startswith(("int", "uint")):
        limits = np.iinfo(kind)
        edges = [
            0,
            1,
            *([limits.min, limits.max] if limits.bits < 32 else [1000] if limits.min == 0 else [-1, -1000, 1000]),
        ]
    else:
        edges = [0.0, -0.0, 1.0, -1.0, 2.0**-14, -(2.0**-14), 100.0, -100.0]
    return random.choice(np.array(edges).astype(kind), tuple(shape))


def _distribution(dtype: str, below: int | None) -> tuple[str, int, int, str]:
    """Return the method of numpy's generator that draws values, its bounds, and the type of the array."""
    if dtype.startswith("bool"):
        return "integers", 0, 2, "bool"
    if dtype.startswith(("int", "uint")):
        high = 5 if below is None else max(1, min(5, below))
        return "integers", 0 if below is not None or dtype.startswith("uint") else -4, high, dtype
    return "uniform", -3, 3, dtype


def plain_name(name: str) -> str:
    """Return the name that TVM's ONNX importer of Relax gives an input; Relay's keeps the model's own.

    >>> plain_name("input.1"), plain_name("1")
    ('input_1', 'input_1')
    """
    plain = name.replace(".", "_")
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"input_{plain}"


def _key(name: str) -> int:
    """Return a number for the input's name that is the same in both dialects."""
    return zlib.crc32(plain_name(name).encode())


def random_code(name: str, shape: Sequence[int], dtype: str, seed: int, below: int | None = None) -> str:
    """Return a Python expression, with numpy as `np`, of the array that `random_values` returns.

    >>> values = random_values("x", (2, 2), "int8", 7)
    >>> bool((eval(random_code("x", (2, 2), "int8", 7)) == values).all())
    True
    """
    method, low, high, kind = _distribution(dtype, below)
    random = f"np.random.default_rng([{seed}, {_key(name)}])"
    return f"{random}.{method}({low}, {high}, {tuple(shape)}).astype({kind!r})"


def limit_of(workload: Workload, name: str, dtype: str) -> int | None:
    """Return the size of the dimension that an input indexes, or None; only integers are looked up."""
    return workload.limits.get(name) if "int" in dtype else None
