"""What only Relax's door does."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

import workbench as wb
from workbench.dialects.base import Workload
from workbench.dialects.relax import DIALECT, compat
from workbench.errors import LoadError


def test_a_module_without_functions_is_no_workload() -> None:
    with pytest.raises(LoadError, match="no Relax function"):
        wb.load(tvm.IRModule({}))


def test_a_function_with_free_variables_is_refused_by_name() -> None:
    x, y = (relax.Var(name, compat.tensor_type((4,), "float32")) for name in "xy")
    function = relax.Function([x], relax.SeqExpr([], relax.op.add(x, y)), compat.tensor_type((4,), "float32"))
    with pytest.raises(LoadError, match="uses y without binding"):
        wb.load(function)


def test_parameters_as_detach_params_gives_them() -> None:
    sample = wb.samples.load("mlp", layers=1)
    arrays = [np.zeros((32, 32), "float32"), np.ones(32, "float32")]
    workload = wb.load((sample.module, {"main": arrays}))
    assert list(workload.params) == ["fc0_weight", "fc0_bias"]
    assert (workload.params["fc0_bias"].numpy() == 1).all()


def test_a_frontends_module_is_read() -> None:
    class Model(relax.frontend.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = relax.frontend.nn.Linear(8, 4)

        def forward(self, x: relax.frontend.nn.Tensor) -> relax.frontend.nn.Tensor:
            return relax.frontend.nn.op.relu(self.dense(x))

    spec = {"forward": {"x": relax.frontend.nn.spec.Tensor([1, 8], "float32")}}
    module, _ = Model().export_tvm(spec)
    graph = wb.load(module).graph
    assert [node.op for node in graph.ops][-3:] == ["relax.matmul", "relax.add", "relax.nn.relu"]
    assert graph.outputs, "an entry that is not called main"


@pytest.mark.parametrize("level", [0, 1])
def test_the_level_of_the_context_is_honoured(level: int) -> None:
    workload = wb.samples.load("parallel_cast")
    after = DIALECT.passes.apply(DIALECT.passes.make("EliminateCommonSubexpr", {}), workload.module, level)
    assert DIALECT.frontend.same(after, workload.module) is (level == 0)


@pytest.mark.parametrize(("level", "fuses"), [(0, False), (2, True)])
def test_fuse_ops_takes_its_level_from_the_context(level: int, fuses: bool) -> None:
    trace = wb.trace(wb.samples.load("mlp"), "LegalizeOps,AnnotateTIROpPattern,FuseOps", level)
    assert trace.steps[-1].changed is fuses


def test_modules_are_equal_whatever_their_variables_are_called() -> None:
    text = wb.samples.load("chain").text()
    assert DIALECT.frontend.same(wb.load(text).module, wb.load(text.replace("lv1", "another")).module)
    assert not DIALECT.frontend.same(wb.load(text).module, wb.load(text.replace("R.nn.relu", "R.exp")).module)


def test_a_person_s_pass_may_leave_the_module_unnormalised() -> None:
    def nest(module: tvm.IRModule) -> tvm.IRModule:
        x = module["main"].params[0]
        nested = relax.op.nn.relu(relax.op.exp(x))
        return tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], nested), compat.type_of(x))})

    step = wb.trace(wb.samples.load("chain"), [nest]).steps[0]
    assert [node.op for node in step.after.ops] == ["relax.exp", "relax.nn.relu"]
    assert all(node.type for node in step.after.nodes)


def test_a_person_s_pass_that_does_not_type_check_is_a_step_with_its_error() -> None:
    def wrong(module: tvm.IRModule) -> tvm.IRModule:
        x = module["main"].params[0]
        nested = relax.op.matmul(x, x)
        return tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], nested), compat.type_of(x))})

    step = wb.trace(wb.samples.load("chain"), [wrong]).steps[0]
    assert step.status == "error"
    assert "does not type-check" in step.error


def test_an_ffi_that_ends_the_process_is_refused_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tvm_ffi, "__version__", "0.1.15.post2")
    with pytest.raises(wb.WorkbenchError, match=r"apache-tvm-ffi==0\.1\.14"):
        DIALECT.frontend.dump(wb.samples.load("chain"), tmp_path)


@pytest.mark.parametrize("version", ["0.24.0", "0.28.dev1", "1.0.0", "unversioned"])
def test_a_tvm_outside_the_known_range_warns_once_and_goes_on(version: str) -> None:
    compat.warn_of_unknown.cache_clear()
    with pytest.warns(UserWarning, match="to 0.27"):
        compat.warn_of_unknown(version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compat.warn_of_unknown(version)


@pytest.mark.parametrize("version", ["0.26.0", "0.27.0.post1", "0.27.1"])
def test_a_tvm_within_it_does_not(version: str) -> None:
    compat.warn_of_unknown.cache_clear()
    compat.warn_of_unknown(version)


def test_constant_shaped_like_a_place_of_a_large_one(tmp_path: Path) -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        one, large = np.zeros((1,) * 12, "int64"), np.ones((1 << 20,), "float32")
        out = builder.emit(relax.Tuple([relax.const(one), relax.const(large)]))
        builder.emit_func_output(out)
    module = builder.get()
    DIALECT.frontend.dump(Workload(module, {}, "m", "relax"), tmp_path)
    assert DIALECT.frontend.same(DIALECT.frontend.restore(tmp_path).module, module)
