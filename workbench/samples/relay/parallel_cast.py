"""Two branches that each cast the same int32 tensor to int8 (a question from TVM's forum: how to make them one).

Kernels at opt level 0, 1, 2, 3: 8, 5, 5, 3. EliminateCommonSubexpr merges the casts, so that int8 rather than int32
flows between the kernels. The weights are float32 holding small integers, as in the question: with int8 weights TVM 0.17
rewrites the dense for AVX-512 into one that does not type-check.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relay

from workbench.samples.relay._build import Builder, constant


def build(rows: int = 1, width: int = 16) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Build for `rows` rows of `width` values."""
    b = Builder()
    data = relay.var("data", shape=(rows, width), dtype="float32")
    wide = relay.cast(data, "int32")
    left = relay.nn.relu(relay.cast(wide, "int8"))
    right = relay.nn.relu(relay.cast(wide, "int8"))
    left = relay.nn.dense(left, constant(b.int8("left", (width, width))))
    right = relay.nn.dense(right, constant(b.int8("right", (width, width))))
    return b.finish([data], relay.add(left, right))
