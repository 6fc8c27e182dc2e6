"""The values of constants that a Relay text has after `#[metadata]`, read without TVM."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from math import prod
from typing import Any

import numpy as np

from workbench.errors import LoadError

_MAGIC = 0xDD5E40F096B4A13F
"first bytes of a TVM array"
_HEAD = struct.Struct("<QQiii")
"magic number, reserved, device type, device id, dimensions"
_TYPE = struct.Struct("<BBH")
"type code, bits, lanes"
_DAMAGE = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError)
_CODES = {0: "int", 1: "uint", 2: "float", 6: "bool"}


def constants(metadata: str) -> dict[str, np.ndarray]:
    """Return the arrays by their names in the text, `meta[relay.Constant][0]`.

    Parameters
    ----------
    metadata
        The JSON after `#[metadata]`, as TVM's save_json writes it.

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
        return {
            f"meta[relay.Constant][{index}]": _array(arrays[int(nodes[place]["attrs"]["data"])])
            for index, place in enumerate(listed)
        }
    except (*_DAMAGE, struct.error, binascii.Error) as error:
        raise LoadError(
            f"the text's #[metadata] cannot be read: {error}; print it again with show_meta_data=True"
        ) from None


def _array(text: str) -> np.ndarray:
    raw = base64.b64decode(text, validate=True)
    magic, _, _, _, rank = _HEAD.unpack_from(raw)
    if magic != _MAGIC:
        raise ValueError("an array does not begin as TVM's arrays do")
    at = _HEAD.size
    code, bits, lanes = _TYPE.unpack_from(raw, at)
    at += _TYPE.size
    shape = struct.unpack_from(f"<{rank}q", raw, at)
    (size,) = struct.unpack_from("<q", raw, at + 8 * rank)
    values = raw[at + 8 * rank + 8 :]
    kind = _dtype(code, bits, lanes)
    if len(values) != size or size != prod(shape) * kind.itemsize:
        raise ValueError(f"an array of shape {shape} is cut short")
    return np.frombuffer(values, kind).reshape(shape)


def _dtype(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    if lanes != 1 or code not in _CODES:
        raise ValueError(f"an array has a type that numpy lacks (code {code}, {bits} bits, {lanes} lanes)")
    # TVM writes a bool as an unsigned integer of one bit, which takes a byte
    return np.dtype("bool" if bits == 1 or code == 6 else f"{_CODES[code]}{bits}")
