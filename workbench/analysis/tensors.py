"""Tensor types as the graph's text has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

_TENSOR = re.compile(r"Tensor\[\(([^()]*)\), (\w+)\]")
_SCALAR = re.compile(r"(?:bool|u?int\d+|b?float\d+)")
_BITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Tensor:
    """The type of a tensor."""

    shape: tuple[int | str, ...]
    "a dimension that is not known is its text, `?`"
    dtype: str

    @property
    def known(self) -> bool:
        """Whether every dimension is a number."""
        return all(isinstance(d, int) for d in self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of its elements; 0 where the shape is not known."""
        bits = _BITS.search(self.dtype)
        size = 1 if self.dtype.startswith("bool") or bits is None else -(-int(bits.group()) // 8)
        return prod(d for d in self.shape if isinstance(d, int)) * size if self.known else 0

    def __str__(self) -> str:
        return f"Tensor[({', '.join(map(str, self.shape))}), {self.dtype}]"


@lru_cache(maxsize=65536)
def tensor(type: str) -> Tensor | None:
    """Read a type; None if it is no tensor.

    >>> tensor("Tensor[(1, ?), int8]")
    Tensor(shape=(1, '?'), dtype='int8')
    >>> tensor("float32").shape
    ()
    """
    found = _TENSOR.fullmatch(type)
    if found is not None:
        parts = [part.strip() for part in found.group(1).split(",") if part.strip()]
        return Tensor(tuple(int(p) if p.isdigit() else p for p in parts), found.group(2))
    return Tensor((), type) if _SCALAR.fullmatch(type) else None


def nbytes(type: str) -> int:
    """Bytes of a value of this type, tuples' fields together; 0 where it is not known."""
    whole = tensor(type)
    if whole is not None:
        return whole.nbytes
    return sum(Tensor(t.shape, t.dtype).nbytes for t in map(tensor, _TENSOR_TEXT.findall(type)) if t is not None)


_TENSOR_TEXT = re.compile(r"Tensor\[\([^()]*\), \w+\]")
