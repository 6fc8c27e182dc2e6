"""The calls of a Relay build, counted: what the graph executor does, one row a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm


def call_rows(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a call of the executor's graph JSON, in execution order.

    A call of `__nop` (a reshape that needs no copy) is a row with `noop` true; it launches nothing.
    """
    shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    first = graph["node_row_ptr"]

    def described(entry: int) -> dict[str, Any]:
        size = int(np.prod(shapes[entry], dtype=np.int64)) * -(-tvm.DataType(types[entry]).bits // 8)
        return {"text": f"{tuple(shapes[entry])} {types[entry]}", "bytes": size}

    rows = []
    for place, node in enumerate(graph["nodes"]):
        if node["op"] != "tvm_op":
            continue
        inputs = [described(first[source] + output) for source, output, _ in node["inputs"]]
        outputs = [described(entry) for entry in range(first[place], first[place] + int(node["attrs"]["num_outputs"]))]
        function = node["attrs"]["func_name"]
        rows.append(
            {
                "name": node["name"],
                "function": function,
                "noop": function == "__nop",
                "bytes_read": sum(i["bytes"] for i in inputs),
                "bytes_written": sum(o["bytes"] for o in outputs),
                "inputs": [i["text"] for i in inputs],
                "outputs": [o["text"] for o in outputs],
            }
        )
    return rows
