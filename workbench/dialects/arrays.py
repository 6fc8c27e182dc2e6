"""Parameters on their way to another process: one file of raw numbers, mapped into memory by whoever reads it.

Neither side holds a second copy of a model's parameters: what is written goes from where TVM has it to the file, and a
reader's arrays are views of the file. Nothing is pickled.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ALIGNED = 64
"bytes: where TVM wants a tensor to begin"
_LIST, _NUMBERS = "params.json", "params.raw"


def write(folder: Path, params: Mapping[str, Any]) -> None:
    """Write parameters: TVM's tensors, or arrays."""
    listed, place = [], 0
    with (folder / _NUMBERS).open("wb") as file:
        for name, value in params.items():
            place += file.write(b"\0" * (-place % ALIGNED))
            size = file.write(_bytes_of(value).data)
            listed.append({"name": str(name), "dtype": str(value.dtype), "shape": _shape(value), "at": [place, size]})
            place += size
    (folder / _LIST).write_text(json.dumps(listed))


def _shape(value: Any) -> list[int]:
    return [int(extent) for extent in value.shape]


def _bytes_of(value: Any) -> np.ndarray:
    """The numbers of a tensor as bytes, without a copy where numpy knows its type and it lies in this machine's memory."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    try:
        array = np.from_dlpack(value)
    except (RuntimeError, TypeError, ValueError, BufferError):
        array = value.numpy()
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def read(folder: Path, make: Callable[[np.ndarray, list[int], str], Any]) -> dict[str, Any]:
    """Read what `write` wrote.

    Parameters
    ----------
    make
        A tensor from its bytes (a read-only view of the file), its shape and its type.
    """
    listed = json.loads((folder / _LIST).read_text())
    size = (folder / _NUMBERS).stat().st_size
    # an empty file can't be mapped
    numbers = np.memmap(folder / _NUMBERS, np.uint8, "r") if size else np.empty(0, np.uint8)
    return {
        entry["name"]: make(numbers[start : start + length], entry["shape"], entry["dtype"])
        for entry in listed
        for start, length in [entry["at"]]
    }


def copy_into(address: int, numbers: np.ndarray) -> None:
    """Copy bytes to where a tensor lies in this machine's memory."""
    ctypes.memmove(address, numbers.ctypes.data, numbers.nbytes)
