"""The bytes that glibc's allocator has handed out in this process: neither TVM lets Python read its own allocator's count."""

from __future__ import annotations

import ctypes

_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS.split()]


_read = getattr(ctypes.CDLL(None), "mallinfo2", None)
if _read is not None:
    _read.restype = _Info
COUNTED = _read is not None
"whether the C library counts them"


def used() -> int:
    """Return the bytes in use, small blocks and mapped ones; 0 where they are not counted."""
    if _read is None:
        return 0
    found = _read()
    return found.uordblks + found.hblkhd
