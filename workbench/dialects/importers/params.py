"""Values of tensors without TVM or pickle: files of `save_param_dict` and of numpy's archives, and `#[metadata]` of a Relay text.

TVM's own reader trusts the sizes that a file claims. Format: src/runtime/file_utils.cc (`SaveParams`), and for a tensor
include/tvm/runtime/ndarray.h; the bytes are the same from TVM 0.8 to today's.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from workbench.errors import LoadError, reason
from workbench.graph.received import size_of_file

LIST, TENSOR = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
"the first eight bytes of a file, and of each tensor in it"
_KINDS = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64"}
_KINDS |= {(1, 1): "bool", (6, 8): "bool", (1, 8): "uint8", (1, 16): "uint16", (1, 32): "uint32", (1, 64): "uint64"}
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_SMALL, _RATIO = 1 << 26, 200
"bytes that an archive may unpack to: always allowed, and per byte of its own size"
_MOST_DIMENSIONS = 32
_LARGEST = 1 << 34
"bytes of a file, which is read value by value"
_LONGEST_NAME = 1 << 16
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, binascii.Error)
_KINDS |= {(2, 16): "float16", (2, 32): "float32", (2, 64): "float64"}


def read_params(path: Path) -> dict[str, np.ndarray]:
    """Return parameter name -> array.

    Raises LoadError: the file is not such a file, is cut short, or holds a type that numpy does not have.
    """
    try:
        size = size_of_file(path, _LARGEST)
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise LoadError(f"{path} cannot be read: {reason(error)}; check the path") from None
    try:
        with file:
            return _from_numpy(file, size) if file.peek(2)[:2] == b"PK" else _Bytes(file, size).params()
    except (struct.error, ValueError) as error:
        raise LoadError(
            f"{path.name} cannot be read as parameters: {error}; write them with tvm.runtime.save_param_dict or numpy.savez"
        ) from None


def constants(metadata: str) -> dict[str, np.ndarray]:
    """Return the constants of a Relay text by their names in it, `meta[relay.Constant][0]`.

    `metadata`: the JSON after `#[metadata]`, as TVM's save_json writes it.

    Raises
    ------
    LoadError
        It is not such JSON, or an array in it is cut short or of a type that numpy does not have.
    """
    if not metadata.strip():
        return {}
    try:
        # other text may follow the JSON in a paste
        found, _ = json.JSONDecoder().raw_decode(metadata.lstrip())
        nodes, arrays = found["nodes"], found["b64ndarrays"]
        table = nodes[found["root"]]
        places = dict(zip(table.get("keys", ()), table.get("data", ()), strict=True))
        listed = nodes[places["relay.Constant"]]["data"] if "relay.Constant" in places else []
        names = {f"meta[relay.Constant][{index}]": nodes[place]["attrs"]["data"] for index, place in enumerate(listed)}
        return {name: _of_text(arrays[int(place)], name) for name, place in names.items()}
    except _DAMAGE as error:
        raise LoadError(
            f"the text's #[metadata] cannot be read: {error}; print it again with show_meta_data=True"
        ) from None


def _of_text(text: str, name: str) -> np.ndarray:
    raw = base64.b64decode(text, validate=True)
    reader = _Bytes(io.BytesIO(raw), len(raw))
    array = reader.tensor(name)
    if reader.file.tell() != len(raw):
        raise ValueError(f"{name} has more bytes than its shape")
    return array


def _from_numpy(file: io.BufferedReader, size: int) -> dict[str, np.ndarray]:
    """Return the arrays of an archive; raises ValueError if it is not one, or unpacks to much more than its size."""
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > _SMALL + _RATIO * size:
                raise ValueError("it unpacks to much more than its size")
            return {member.filename.removesuffix(".npy"): _array(archive.read(member)) for member in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, tokenize.TokenError, EOFError, RuntimeError, LookupError, OSError) as error:
        raise ValueError(f"the archive is damaged ({str(error) or type(error).__name__:.80})") from None


def _array(data: bytes) -> np.ndarray:
    """Return the array in a numpy file; its header is checked first, as numpy allocates the size that it claims."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError("an array in it is of another version of numpy's format")
    try:
        shape, _, kind = _HEADERS[version](file)
    except (MemoryError, RecursionError):  # Python's parser has no room for a deep expression
        raise ValueError("an array in it has a header that nests too deep") from None
    if kind.kind not in "biuf" or math.prod(shape) * kind.itemsize != len(data) - file.tell():
        raise ValueError("an array in it is cut short, or is not of numbers")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


class _Bytes:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.size = file, size

    def take(self, count: int) -> bytes:
        """Return the next bytes; `struct` and numpy refuse fewer, which a file has that is cut meanwhile."""
        if count < 0 or self.file.tell() + count > self.size:
            raise ValueError(f"it ends after {self.size} bytes, within a value of {count}")
        return self.file.read(count)

    def name(self) -> str:
        length = self.number("Q")
        if length > _LONGEST_NAME:
            raise ValueError(f"a name in it has {length} bytes")
        return str(self.take(length), "utf-8")

    def number(self, form: str) -> int:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def params(self) -> dict[str, np.ndarray]:
        if self.number("Q") != LIST:
            raise ValueError("it does not begin as TVM's files of parameters do")
        self.take(8)
        names: dict[str, None] = {}
        for _ in range(self.number("Q")):
            name = self.name()
            if name in names:
                raise ValueError(f"it has two parameters of the name {name[:80]!r}")
            names[name] = None
        if self.number("Q") != len(names):
            raise ValueError("it has more names than tensors, or fewer")
        return {name: self.tensor(name) for name in names}

    def tensor(self, name: str) -> np.ndarray:
        if self.number("Q") != TENSOR:
            raise ValueError(f"there is no tensor where {name[:80]!r} should be")
        self.take(8 + 8)  # reserved, and the device it was on
        rank, code, bits, lanes = (self.number(form) for form in ("i", "B", "B", "H"))
        kind = _KINDS.get((code, bits))
        if kind is None or lanes != 1:
            raise ValueError(
                f"{name[:80]!r} is of a type that numpy does not have (code {code}, {bits} bits, {lanes} lanes)"
            )
        if not 0 <= rank <= _MOST_DIMENSIONS:
            raise ValueError(f"{name[:80]!r} has {rank} dimensions")
        shape = tuple(self.number("q") for _ in range(rank))
        size = self.number("q")
        if size != math.prod(shape) * np.dtype(kind).itemsize or any(s < 0 for s in shape):
            raise ValueError(f"{name[:80]!r} has {size} bytes, which do not make a {kind} of shape {shape}")
        return np.frombuffer(self.take(size), kind).reshape(shape).copy()
