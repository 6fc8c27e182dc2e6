"""Two branches that each cast the same int32 tensor to int8 (a question from TVM's forum: how to merge them).

Relay's kernels at opt level 0, 1, 2, 3: 8, 5, 5, 3. EliminateCommonSubexpr merges the casts, so that int8 rather than
int32 flows between the kernels; Relax runs it only where a pipeline names it. Relay's weights are float32 that hold
small integers, as in the question: with int8 weights TVM 0.17 rewrites the dense for AVX-512 into one that does not
type-check.
"""

from __future__ import annotations

from workbench.samples._builder import Builder, Built


def build(b: Builder, /, rows: int = 1, width: int = 16) -> Built:
    """Build for `rows` rows of `width` values."""
    wide = b.cast(b.input("data", (rows, width)), "int32")
    left = b.relu(b.cast(wide, "int8"))
    right = b.relu(b.cast(wide, "int8"))
    left = b.dense_constant(left, b.int8("left", (width, width)))
    right = b.dense_constant(right, b.int8("right", (width, width)))
    return b.finish(b.add(left, right))
