"""Relay texts that end TVM's process: the child's process ends, and the notebook gets an error."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.errors import LoadError, TooDeep

HEAD = "def @main(%data: Tensor[(1, 4), float32], %c: bool) {\n"
ENDS_RELAY = {
    "a call of itself": HEAD + "  %2 = add(%data, %data);\n  %2(%2)\n}\n",
    "a value as an attribute": "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(3, 3, 3, 3), float32]) {\n"
    "  nn.conv2d(%x, %w, padding=[1, 1, 1, %x.0])\n}\n",
    "nested if": HEAD + "if (%c) {" * 3000 + "%data" + "} else { %data }" * 3000 + "\n}\n",
    "nested fn": HEAD + "fn () {" * 3000 + "%data" + "}" * 3000 + "\n}\n",
    "an operator without a type relation that fits": HEAD + "  split(%data, indices_or_sections=2.5f)\n}\n",
}


@pytest.mark.parametrize("case", ENDS_RELAY)
def test_relay_text_that_ends_tvm(case: str) -> None:
    with pytest.raises(
        (LoadError, TooDeep), match=r"TVM (ended its process|cannot read this)|ends the process beyond|at most 2,000"
    ):
        wb.load(ENDS_RELAY[case])


def test_arrays_given_beside_a_text() -> None:
    loaded = wb.load("fn (%x) { nn.relu(%x) }", {"x": np.zeros((2, 3), "float32")})
    assert "(2, 3)" in next(node.type for node in loaded.graph.ops)
