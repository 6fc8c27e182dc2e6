"""Parameters and large constants on their way to another process: one file of raw numbers, mapped by its reader.

Neither side holds a second copy of a model's parameters: what is written goes from where TVM has it to the file, and a
reader's arrays are views of the file. Nothing is pickled.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import WorkbenchError

ALIGNED = 64
"bytes: where TVM wants a tensor to begin"
LARGE = 1 << 16
"bytes: a constant from this size on goes as raw numbers"
_LIST, _NUMBERS = "params.json", "params.raw"
_BITS = re.compile(r"(?:u?int|float|bfloat)(\d+)(?:_\w+)?|bool")
_SHARED = frozenset(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64))
"types that numpy takes from TVM without a copy"


def write(folder: Path, params: Mapping[str, Any]) -> None:
    """Write parameters or constants, TVM's tensors or arrays.

    Raises
    ------
    WorkbenchError
        The elements of one are not whole bytes.
    """
    folder.mkdir(exist_ok=True)
    listed, place = [], 0
    with (folder / _NUMBERS).open("wb") as file:
        for name, value in params.items():
            place += file.write(b"\0" * (-place % ALIGNED))
            size = size_of(value)
            if size is None:
                raise WorkbenchError(
                    f"{name} is of type {value.dtype}, and no other process reads that here; make it int8 and cast it in the graph"
                )
            file.write(bytes_of(value).data)
            listed.append({"name": str(name), "dtype": str(value.dtype), "shape": _shape(value), "at": [place, size]})
            place += size
    (folder / _LIST).write_text(json.dumps(listed))


def size_of(value: Any) -> int | None:
    """Return the bytes of a tensor, None where its elements are not whole bytes and it does not say where they lie."""
    found = _BITS.fullmatch(str(value.dtype))
    if found is None or (_is_packed(value) and not hasattr(value, "data_ptr")):
        return None
    return (math.prod(_shape(value)) * int(found[1] or 8) + 7) // 8


def _is_packed(value: Any) -> bool:
    found = _BITS.fullmatch(str(value.dtype))
    return found is not None and int(found[1] or 8) % 8 != 0


def is_raw(value: Any) -> bool:
    """Return whether a constant goes to another process as raw numbers, and not as text in the module's JSON.

    Packed ones always do: the JSON of apache-tvm-ffi has a byte for each element, and reading it writes beyond the tensor's end.
    """
    size = size_of(value)
    return size is not None and (size >= LARGE or _is_packed(value))


def _shape(value: Any) -> list[int]:
    return [int(extent) for extent in value.shape]


def bytes_of(value: Any) -> np.ndarray:
    """Return the numbers of a tensor as bytes, without a copy where numpy knows its type and they lie in this machine's memory."""
    array = value if isinstance(value, np.ndarray) else _array(value)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _array(value: Any) -> np.ndarray:
    if str(value.dtype) in _SHARED:
        with suppress(BufferError, RuntimeError, TypeError, ValueError):
            return np.from_dlpack(value)
    size = size_of(value)
    if size and hasattr(value, "data_ptr") and str(value.device).startswith("cpu"):
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(value.data_ptr()))
    return np.asarray(value.numpy())


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
