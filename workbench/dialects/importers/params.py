"""Files of parameters: what TVM's `save_param_dict` writes, and numpy's archives. Read without TVM, and without pickles.

TVM's own reader trusts the sizes that a file claims. Format: src/runtime/file_utils.cc (`SaveParams`) and the tensor's own in
include/tvm/runtime/ndarray.h; the same bytes from TVM 0.8 to today's.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from workbench.errors import LoadError, reason

LIST, TENSOR = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
"the first eight bytes of a file, and of each tensor in it"
_KINDS = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64"}
_KINDS |= {(1, 1): "bool", (6, 8): "bool", (1, 8): "uint8", (1, 16): "uint16", (1, 32): "uint32", (1, 64): "uint64"}
_KINDS |= {(2, 16): "float16", (2, 32): "float32", (2, 64): "float64"}


def read_params(path: Path) -> dict[str, np.ndarray]:
    """Parameter name -> array.

    Raises
    ------
    LoadError
        The file is not such a file, is cut short, or holds a type that numpy does not have.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; check the path") from None
    if data[:2] == b"PK":
        return _from_numpy(path)
    try:
        return _Bytes(data).params()
    except (struct.error, ValueError) as error:
        raise LoadError(
            f"{path.name} cannot be read as parameters: {error}; write them with tvm.runtime.save_param_dict or numpy.savez"
        ) from None


def _from_numpy(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as saved:
            return {name: saved[name] for name in saved.files}
    except (OSError, ValueError, AttributeError, KeyError) as error:
        raise LoadError(f"{path} cannot be read as parameters: {error}; write them with numpy.savez") from None
    except Exception as error:
        if type(error).__name__ not in ("BadZipFile", "error"):  # zipfile's and zlib's
            raise
        raise LoadError(f"{path} cannot be read as parameters: {error}; it is damaged, write it again") from None


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.at = 0

    def take(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(f"it ends after {len(self.data)} bytes, within a value of {count}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> int:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def params(self) -> dict[str, np.ndarray]:
        if self.number("Q") != LIST:
            raise ValueError("it does not begin as TVM's files of parameters do")
        self.take(8)
        names = [str(self.take(self.number("Q")), "utf-8") for _ in range(self.number("Q"))]
        if self.number("Q") != len(names):
            raise ValueError("it has more names than tensors, or fewer")
        return {name: self.tensor(name) for name in names}

    def tensor(self, name: str) -> np.ndarray:
        if self.number("Q") != TENSOR:
            raise ValueError(f"no tensor stands where {name} should be")
        self.take(8 + 8)  # reserved, and the device it was on
        rank, code, bits, lanes = (self.number(form) for form in ("i", "B", "B", "H"))
        kind = _KINDS.get((code, bits))
        if kind is None or lanes != 1:
            raise ValueError(f"{name} is of a type that numpy does not have (code {code}, {bits} bits, {lanes} lanes)")
        shape = tuple(self.number("q") for _ in range(rank))
        size = self.number("q")
        if size != math.prod(shape) * np.dtype(kind).itemsize or any(s < 0 for s in shape):
            raise ValueError(f"{name} has {size} bytes, which do not make a {kind} of shape {shape}")
        return np.frombuffer(self.take(size), kind).reshape(shape).copy()
