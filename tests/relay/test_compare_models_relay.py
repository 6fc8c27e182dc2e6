"""`wb.compare_compilers` of Relay modules of this process."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.environments import SetupError
from workbench.pipeline.elsewhere import Environment


@pytest.fixture(autouse=True)
def both() -> None:
    try:
        Environment.of("relax")
    except SetupError as error:
        pytest.skip(f"needs both environments, make setup: {error}")


def test_a_module_with_hostile_names_and_constants() -> None:
    name = '</script><img src=x onerror="alert(1)">'
    x, w = relay.var(name, shape=(2, 3)), relay.var("w.1", shape=(2, 3))
    constant = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    result = relay.nn.dense(relay.add(x, constant), w)
    module = tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([result, relay.nn.relu(result)])))
    found = wb.compare_compilers((module, {"w.1": np.ones((2, 3), "float32")}), budget=0)
    (pair,) = found.pairs
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(found)
    assert [check.same for check in pair.checks] == [True]
    assert pair.exact == 1
    assert "<img" not in found._repr_html_()
