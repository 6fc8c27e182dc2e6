"""Tensors as raw bytes in one file, which another process maps into memory.

Neither side holds a second copy of a model's parameters: the writer copies TVM's memory to the file, and the reader's
arrays are views of the file. Nothing is pickled.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ALIGNED = 64
"bytes: alignment that TVM wants for a tensor"
LARGE = 1 << 16
"bytes: constants of this size or more are written as raw numbers"
_CPU = 1
"DLPack's number for this machine's memory"
_LIST, _NUMBERS = "params.json", "params.raw"
_BITS = re.compile(r"(?:u?int|float|bfloat)(\d+)(?:_\w+)?|bool")


def write(folder: Path, params: Mapping[str, Any]) -> None:
    """Write parameters or constants: TVM's tensors, or arrays."""
    folder.mkdir(exist_ok=True)
    listed, place = [], 0
    with (folder / _NUMBERS).open("wb") as file:
        for name, value in params.items():
            place += file.write(b"\0" * (-place % ALIGNED))
            size = file.write(bytes_of(value).data)
            listed.append({"name": str(name), "dtype": str(value.dtype), "shape": _shape(value), "at": [place, size]})
            place += size
    (folder / _LIST).write_text(json.dumps(listed))


def size_of(value: Any) -> int | None:
    """Return the bytes of a tensor, None if its elements are not whole bytes and it has no address."""
    found = _BITS.fullmatch(str(value.dtype))
    if found is None or (_is_packed(value) and not hasattr(value, "data_ptr")):
        return None
    return (math.prod(_shape(value)) * int(found[1] or 8) + 7) // 8


def _is_packed(value: Any) -> bool:
    found = _BITS.fullmatch(str(value.dtype))
    return found is not None and int(found[1] or 8) % 8 != 0


def is_raw(value: Any) -> bool:
    """Return whether a constant goes to another process as raw numbers, and not as text in the module's JSON.

    Packed constants always do: the JSON of apache-tvm-ffi has a byte for each element, and reading it writes beyond the
    tensor's end.
    """
    size = size_of(value)
    return size is not None and (size >= LARGE or _is_packed(value))


def _shape(value: Any) -> list[int]:
    return [int(extent) for extent in value.shape]


def bytes_of(value: Any) -> np.ndarray:
    """Return a tensor's bytes as TVM keeps them, without a copy where they are in this machine's memory.

    Types without a numpy name (`int4`, `bfloat16`, `bool` of TVM 0.17) are read in place: numpy raises SystemError for
    them, and TVM's own `numpy()` unpacks some of them into another type.
    """
    if not isinstance(value, np.ndarray):
        value = _view(value) if has_numpy_type(value) else _in_place(value)
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


def has_numpy_type(value: Any) -> bool:
    """Return whether numpy can view and make arrays of a tensor's type without help."""
    return re.fullmatch(r"float(16|32|64)|u?int(8|16|32|64)", str(value.dtype)) is not None


def _view(value: Any) -> np.ndarray:
    try:
        return np.from_dlpack(value)
    except (RuntimeError, TypeError, ValueError, BufferError):
        return value.numpy()


def _in_place(value: Any) -> np.ndarray:
    placed = _placed(value)
    if placed is None:
        return value.numpy()
    address, size = placed
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)) if size else np.empty(0, np.uint8)


def _placed(value: Any) -> tuple[int, int] | None:
    """Return the address and the size in bytes of a TVM tensor in this machine's memory, None for one elsewhere."""
    count = math.prod(_shape(value))
    if value.__dlpack_device__()[0] != _CPU:
        return None
    if hasattr(value, "handle"):  # Relay's TVM gives each element whole bytes
        tensor = value.handle.contents
        return tensor.data, count * -(-tensor.dtype.bits * tensor.dtype.lanes // 8)
    if hasattr(value, "data_ptr"):  # Relax's TVM packs elements of less than a byte
        return value.data_ptr(), -(-count * value.dtype.bits * value.dtype.lanes // 8)
    return None


def read(folder: Path, make: Callable[[np.ndarray, list[int], str], Any]) -> dict[str, Any]:
    """Read the tensors that `write` wrote.

    `make`: a tensor from its bytes (a read-only view of the file), its shape and its type.
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


def as_numpy(numbers: np.ndarray, shape: list[int], dtype: str) -> np.ndarray:
    """Return the array of these bytes, for `read`; raises ValueError if they are not of this shape and type."""
    return numbers.view(_dtype(dtype)).reshape(shape)


def copy_into(address: int, numbers: np.ndarray) -> None:
    """Copy bytes to a tensor's address in this machine's memory."""
    ctypes.memmove(address, numbers.ctypes.data, numbers.nbytes)


def save(path: str, named: Mapping[str, np.ndarray]) -> None:
    """Write arrays to an .npz file. The format has no name for types such as bfloat16, so the array's name has the type."""
    plain = {
        f"{name} {array.dtype}": array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")
        for name, array in named.items()
    }
    np.savez(path, **plain)  # pyright: ignore[reportArgumentType]


def load(path: str | Path) -> dict[str, np.ndarray]:
    """Read a file that `save` wrote."""
    with np.load(path, allow_pickle=False) as saved:
        return {name.partition(" ")[0]: saved[name].view(_dtype(name.partition(" ")[2])) for name in saved.files}


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:  # the library with the other types is installed wherever such a file was written
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
