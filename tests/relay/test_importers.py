"""What only Relay has of models from elsewhere: executor graphs of real builds, shapes folded in Python, TVM's own files."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import tvm
from breadth import breadth
from tvm import relay
from tvm.relay.frontend.common import fold_constant

import workbench as wb
from workbench.dialects.importers.params import read_params
from workbench.dialects.relay import importers

sys.path.insert(0, str(Path(__file__).parents[1]))
from onnx_models import FLOAT, Onnx, bert, convolutions, dense


@pytest.mark.parametrize("opt_level", breadth([0, 3], 3))
@pytest.mark.parametrize("sample", ["mlp", "attention"])
def test_an_executor_graph_shows_each_call_of_the_build(
    sample: str, opt_level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPHUB_LOCATION", "NONE")
    workload = wb.samples.load(sample)
    with tvm.transform.PassContext(opt_level=opt_level):
        built = relay.build(workload.module, "llvm", params=workload.params)
    (tmp_path / "graph.json").write_text(built.get_graph_json())
    shown = wb.load(tmp_path / "graph.json").graph
    called = [node for node in json.loads(built.get_graph_json())["nodes"] if node["op"] == "tvm_op"]
    assert shown.kernel_count == sum(node["attrs"]["func_name"] != "__nop" for node in called)
    assert [node.name for node in shown.nodes if node.kind in ("op", "call")] == [node["name"] for node in called]

    (tmp_path / "p.params").write_bytes(relay.save_param_dict(built.get_params()))
    ours, theirs = read_params(tmp_path / "p.params"), built.get_params()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name].numpy()) for name in ours)


def test_a_file_of_parameters_is_taken_with_a_module(tmp_path: Path) -> None:
    workload = wb.samples.load("mlp")
    (tmp_path / "p.params").write_bytes(relay.save_param_dict(workload.params))
    (tmp_path / "m.relay").write_text(workload.text())
    loaded = wb.load(tmp_path / "m.relay", tmp_path / "p.params")
    assert loaded.params.keys() == workload.params.keys()
    assert all(np.array_equal(loaded.params[k].numpy(), workload.params[k].numpy()) for k in workload.params)


@pytest.mark.parametrize(
    "model",
    [pytest.param(bert(1), marks=pytest.mark.long), convolutions(), dense()],
    ids=["bert", "convolutions", "dense"],
)
def test_folding_shapes_in_python_changes_nothing(model: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPHUB_LOCATION", "NONE")
    ours = wb.load(model).module
    monkeypatch.setattr(importers, "linear_folding", lambda frontend: nullcontext())
    assert tvm.ir.structural_equal(ours, wb.load(model).module)


def test_what_is_no_small_integer_is_left_to_tvm() -> None:
    small = relay.const(np.array([2, 3, 4]))
    for call, value in (
        (relay.strided_slice(small, [1], [3]), [3, 4]),
        (relay.concatenate([small, small], 0), [2, 3, 4, 2, 3, 4]),
        (relay.maximum(small, relay.const(np.array([3]))), [3, 3, 4]),
    ):
        np.testing.assert_array_equal(importers.small_integers(call), value)
    x = relay.var("x", shape=(3,), dtype="int64")
    for left in (
        relay.const(1.5),
        relay.const(np.zeros(65, "int64")),
        x,
        relay.add(small, x),
        relay.exp(small),
        relay.reverse(small, 0),
    ):
        assert importers.small_integers(left) is None


def test_only_constants_are_given_to_tvms_folder() -> None:
    given: list[object] = []

    def by_tvm(expr: relay.Expr) -> relay.Expr:
        given.append(expr)
        return fold_constant(expr)

    fold = importers.Folding(by_tvm).fold
    x = made = relay.var("x", shape=(3,))
    for _ in range(2000):  # deeper than Python's stack
        made = relay.nn.relu(made)
    half = relay.exp(relay.const(np.ones(3, "float32")))
    pair = relay.Tuple([made, relay.add(made, relay.multiply(half, half))])
    folded = fold(relay.concatenate(relay.Tuple([relay.TupleGetItem(pair, 1), x]), 0))
    assert len(given) == 2
    (added, same), total = folded.args[0].fields, np.exp(np.ones(3)) ** 2
    assert same.same_as(x)
    assert added.args[0].same_as(made)
    np.testing.assert_allclose(added.args[1].data.numpy(), total, rtol=1e-6)
    again = fold(relay.nn.relu(folded))
    assert again.args[0].same_as(folded)


def test_visits_are_linear_in_the_depth() -> None:
    folder = importers.Folding(fold_constant)
    made = relay.var("x", shape=(3,))
    for _ in range(500):
        made = folder.fold(relay.nn.relu(made))
    assert folder.visits <= 3 * 500


def test_the_importer_of_tvm_folds_by_itself_again_afterwards() -> None:
    before = importers.onnx_frontend.fold_constant
    wb.load(dense())
    assert importers.onnx_frontend.fold_constant is before


def test_a_build_of_an_input_with_an_open_dimension_names_the_input() -> None:
    with pytest.raises(wb.WorkbenchError, match=r"the input x leaves a dimension open.*--input x=1"):
        wb.kernels(wb.load(dense("batch")))


def test_random_numbers_that_the_importer_fixes_are_noted() -> None:
    m = Onnx()
    (note,) = wb.load(m.model({"x": (FLOAT, [2, 3])}, m.op("Add", "x", m.op("RandomNormalLike", "x")))).notes
    assert note == (
        "the model draws random numbers: RandomNormalLike (once: '/RandomNormalLike'); "
        "the imported program has the same ones in each run"
    )
