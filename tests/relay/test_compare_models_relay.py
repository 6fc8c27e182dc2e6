"""`wb.compare_compilers` of Relay modules of this process."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from planted import alone
from tvm import relay

import workbench as wb
from workbench.debugging.compilers.models import Environment
from workbench.environments import SetupError


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


@pytest.mark.parametrize("name", ["a cast from int8 to uint8 to int32", "a float clipped and cast to int8"])
def test_a_miscompile_shows_as_a_difference_that_the_programs_do_not_have(name: str) -> None:
    """SimplifyExpr of Relay is wrong at opt level 3; the translation, which no pass of Relay sees, is right."""
    (pair,) = wb.compare_compilers(alone(name), budget=0).pairs
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(pair)
    assert [check.same for check in pair.checks] == [False], str(pair)
    assert "the imported programs agree at each of" in pair.part
    assert "so a pass of a build is the cause" in pair.part


def test_the_graph_that_a_child_makes_has_the_ids_of_the_comparison() -> None:
    workload = wb.samples.load("attention")
    (pair,) = wb.compare_compilers(wb.load(workload.module, workload.params), budget=0).pairs
    assert pair.left.graph is not None
    assert [(node.kind, node.op, node.type) for node in pair.left.graph.nodes] == [
        (node.kind, node.op, node.type) for node in workload.graph.nodes
    ]
    ids = {node.source: node.id for node in pair.left.graph.ops}
    assert all(source == (f"{workload.graph.nodes[id].op}#{id}",) for source, id in ids.items())
