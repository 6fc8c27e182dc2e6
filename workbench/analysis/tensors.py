"""Tensor types, read from their text in the graph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

# Relay's form, then Relax's
_TENSOR = re.compile(
    r"Tensor\[\(([^()]*)\), ?(\w+)\]|R\.Tensor\(\(([^()]*)\), dtype=\"(\w+)\"[^()]*\)|"
    r"R\.Tensor\(dtype=\"(\w+)\", ndim=(\d{1,9})(?!\d)[^()]*\)"
)
_SCALAR = re.compile(r"(?:bool|u?int\d+|b?float\d+)")
_BITS = re.compile(r"\d{1,9}")
_SIZE = re.compile(r"(\d{1,18})(?:i64)?")
"a dimension; Relay writes the type of one that is not int32"
_MOST_DIMENSIONS = 64


@dataclass(frozen=True)
class Tensor:
    """The type of a tensor."""

    shape: tuple[int | str, ...]
    "an unknown dimension is its text, such as `?`"
    dtype: str

    @property
    def known(self) -> bool:
        """Return whether every dimension is a number."""
        return all(isinstance(d, int) for d in self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements; 0 where the shape is not known."""
        bits = _BITS.search(self.dtype)
        size = 1 if self.dtype.startswith("bool") or bits is None else -(-int(bits.group()) // 8)
        return prod(d for d in self.shape if isinstance(d, int)) * size if self.known else 0

    def __str__(self) -> str:
        return f"Tensor[({', '.join(map(str, self.shape))}), {self.dtype}]"


@lru_cache(maxsize=65536)
def tensor(type: str) -> Tensor | None:
    """Return a type as a Tensor; None if it is not a tensor type.

    >>> tensor("Tensor[(1, ?), int8]")
    Tensor(shape=(1, '?'), dtype='int8')
    >>> tensor("Tensor[(1i64, 2), int8]")
    Tensor(shape=(1, 2), dtype='int8')
    >>> tensor('R.Tensor((n, 4), dtype="float32")')
    Tensor(shape=('n', 4), dtype='float32')
    >>> tensor('R.Tensor(dtype="int64", ndim=2)')
    Tensor(shape=('?', '?'), dtype='int64')
    >>> tensor("float32").shape
    ()
    """
    found = _TENSOR.fullmatch(type)
    if found is not None:
        return _read(found)
    return Tensor((), type) if _SCALAR.fullmatch(type) else None


def tensors(type: str) -> list[Tensor]:
    """Return the tensors of a type, a tuple's one by one.

    >>> tensors("(Tensor[(1, ?), int8], float32)")
    [Tensor(shape=(1, '?'), dtype='int8')]
    >>> tensors('R.Tuple(R.Tensor((8,), dtype="int8"), R.Tensor((8,), dtype="int8"))')
    [Tensor(shape=(8,), dtype='int8'), Tensor(shape=(8,), dtype='int8')]
    """
    return [_read(found) for found in _TENSOR.finditer(type)]


def nbytes(type: str) -> int:
    """Return the bytes of a value of this type, the sum for a tuple; unknown shapes count 0."""
    whole = tensor(type)
    return sum(field.nbytes for field in tensors(type)) if whole is None else whole.nbytes


def size_of(type: str) -> int | None:
    """Return the bytes of a value of this type, the sum for a tuple; None where a shape is not known.

    >>> size_of("(Tensor[(2), int8], Tensor[(3), int8])"), size_of("Tensor[(2, ?), int8]")
    (5, None)
    """
    found = tensors(type)
    return sum(each.nbytes for each in found) if found and all(each.known for each in found) else None


def _read(found: re.Match[str]) -> Tensor:
    if found.group(5):
        return Tensor(("?",) * int(found.group(6)), found.group(5))
    shape, dtype = found.group(1, 2) if found.group(2) else found.group(3, 4)
    parts = [part.strip() for part in shape.split(",") if part.strip()]
    sizes = tuple(int(size[1]) if (size := _SIZE.fullmatch(p)) else p for p in parts)
    # no tensor of TVM has as many elements
    is_real = len(parts) <= _MOST_DIMENSIONS and prod(size for size in sizes if isinstance(size, int)) < 1 << 63
    return Tensor(sizes if is_real else tuple(parts), dtype)
