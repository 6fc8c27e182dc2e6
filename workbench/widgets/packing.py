"""Messages with bytes in them: the bytes go beside the message, as a notebook's protocol sends them."""

from __future__ import annotations

from typing import Any


def packed(message: Any) -> tuple[Any, list[bytes]]:
    """The message with a place in a list of buffers where it had bytes, and that list: js/views/packing.ts reads them.

    >>> packed({"type": "state", "kind": b"ab"})
    ({'type': 'state', 'kind': {'buffer': 0}}, [b'ab'])
    """
    buffers: list[bytes] = []

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            buffers.append(value)
            return {"buffer": len(buffers) - 1}
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value

    return plain(message), buffers
