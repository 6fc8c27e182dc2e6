"""Valid files of formats that TVM writes, made without it: an executor's graph and parameters."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from workbench.dialects.importers.params import LIST, TENSOR


def executor_graph() -> dict[str, Any]:
    """Return split(x, 2 parts): its second part, and exp of both, on another device; in the layout of TVM 0.17."""

    def call(name: str, inputs: list[list[int]], outputs: int = 1, **more: str) -> dict[str, Any]:
        counts = {"num_outputs": str(outputs), "num_inputs": str(len(inputs)), "flatten_data": "0"}
        return {"op": "tvm_op", "name": name, "attrs": {**counts, "func_name": name, **more}, "inputs": inputs}

    return {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            call("tvmgen_default_fused_split", [[0, 0, 0]], 2, hash="cd1b"),
            call("reshape_nop", [[1, 0, 0]], func_name="__nop"),
            call("tvmgen_default_fused_add_exp", [[2, 0, 0], [1, 1, 0]]),
        ],
        "arg_nodes": [0],
        "heads": [[1, 1, 0], [3, 0, 0]],
        "attrs": {
            "dltype": ["list_str", ["float32"] * 5],
            "storage_id": ["list_int", [0, 1, 2, 1, 3]],
            "device_index": ["list_int", [1, 1, 1, 1, 2]],
            "shape": ["list_shape", [[4, 6], [4, 3], [4, 3], [4, 3], []]],
        },
        "node_row_ptr": [0, 1, 3, 4, 5],
    }


def tvm_params(arrays: dict[str, np.ndarray]) -> bytes:
    """Return what TVM's `save_param_dict` writes, by its format."""
    codes = {"f": 2, "i": 0, "u": 1, "b": 6}
    out = struct.pack("<QQQ", LIST, 0, len(arrays))
    out += b"".join(struct.pack("<Q", len(name.encode())) + name.encode() for name in arrays)
    out += struct.pack("<Q", len(arrays))
    for array in arrays.values():
        kind = codes[array.dtype.kind], array.itemsize * 8, 1
        out += struct.pack("<QQiiiBBH", TENSOR, 0, 1, 0, array.ndim, *kind)
        out += struct.pack(f"<{array.ndim}qq", *array.shape, array.nbytes) + array.tobytes()
    return out
