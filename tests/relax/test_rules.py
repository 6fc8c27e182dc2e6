"""`wb.schedules`: the rule of each kernel is TVM's, and each "declined" is the line at which the rule returned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tvm
import tvm_ffi
from breadth import breadth
from decoder import decoder_layer
from tvm import relax

import workbench as wb
from workbench.debugging.schedule_steps import schedule_steps
from workbench.debugging.schedules import Schedules, said
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.results import Attempt
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax.compiler.kernels import CALLS, Watch, pipeline
from workbench.dialects.relax.compiler.rules import DLIGHT, Rules, attempted, rule_of
from workbench.dialects.relax.kinds import prim_funcs
from workbench.errors import MeasureError, UnknownName
from workbench.pipeline.config import Config

GPU = "cuda -arch=sm_80"
CONTEXT = Config().context().to_data()


def one_kernel(rows: int = 8) -> wb.Workload:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((rows, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(builder.emit(relax.op.nn.relu(x)))
        builder.emit_func_output(y)
    return wb.load(builder.get())


def through(rule: object) -> Attempt:
    """Apply a rule to a kernel."""
    function = prim_funcs(relax.transform.LegalizeOps()(one_kernel().module))["relu"]
    with make_target(GPU) as target:
        return attempted(rule, function, target, tunable=False)[0]


# -- rules with known ends


def _small(value: int) -> bool:
    return value < 3


def _shape(function: Any) -> tuple[object, ...] | None:
    sizes = (function.params[0], 16)
    if len(sizes) != 3:
        return None
    return sizes


class Rule(rule_of("Fallback", make_target(GPU)).__class__):  # type: ignore[misc]
    """Declines in the way that its `end` names."""

    def __init__(self, end: str) -> None:
        super().__init__()
        self.end = end

    def apply(self, function: Any, target: Any, tunable: bool) -> Any:
        count = len(function.params)
        if self.end == "test":
            if count == 2 and target.kind.name == "cuda":
                return None
        elif self.end == "chain":
            if count == 1:
                count = 3
            elif count == 4:
                count = 5
            else:
                return None
        elif self.end == "helper":
            shape = _shape(function)
            if shape is None:
                return None
        elif self.end == "comprehension":
            if not all(_small(each) for each in (1, count, 7)):
                return None
        elif self.end == "assertion":
            try:
                assert count > 2
            except AssertionError:
                return None
        elif self.end == "call":
            return _shape(function)
        elif self.end == "raises":
            assert count == 7
        elif self.end == "says":
            raise ValueError("no such block\nat all")
        return super().apply(function, target, tunable)


@pytest.mark.parametrize(
    ("end", "texts", "values"),
    [
        ("test", ["count == 2 and target.kind.name == 'cuda'"], {"count": "2", "target.kind.name": "cuda"}),
        ("chain", ["self.end == 'chain' and not (count == 1) and not (count == 4)"], {"count": "2"}),
        ("helper", ["shape is None", "len(sizes) != 3"], {"shape": "None"}),
        (
            "comprehension",
            ["not all((_small(each) for each in (1, count, 7)))", "value < 3"],
            {"count": "2"},
        ),
        ("assertion", ["assert count > 2 (AssertionError: assert 2 > 2)"], {"count": "2"}),
        ("call", ["_shape(function)", "len(sizes) != 3"], {}),
    ],
)
def test_a_rule_declines_where_it_returned(end: str, texts: list[str], values: dict[str, str]) -> None:
    found = through(Rule(end))
    assert found.outcome == "declined"
    assert [place.text for place in found.places] == texts
    assert values.items() <= found.places[0].values.items()
    if len(texts) > 1:
        assert found.places[1].values in ({"len(sizes)": "2"}, {"value": "7"})


def test_an_error_is_tvms_own_at_its_line() -> None:
    found = through(Rule("raises"))
    assert (found.outcome, found.places[0].text) == ("raised", "assert count == 7")
    assert found.places[0].values == {"count": "2"}
    found = through(Rule("says"))
    assert found.error == "ValueError: no such block\nat all"
    assert said(found).startswith("Rule raised ValueError: no such block at all at `raise ValueError(")


def test_a_rule_that_takes_a_kernel_is_not_watched() -> None:
    seen = list[object]()

    class Takes(Rule):
        def apply(self, function: Any, target: Any, tunable: bool) -> Any:
            seen.append(sys.gettrace())
            return super().apply(function, target, tunable)

    assert through(Takes("")).outcome == "took"
    assert seen == [sys.gettrace()]


def test_one_rule_is_not_a_list_of_letters() -> None:
    (kernel,) = wb.schedules(one_kernel(), GPU, "Fallback")
    assert kernel.rule == "Fallback"


def test_a_rule_that_takes_a_kernel_keeps_its_trace() -> None:
    found = through(Rule(""))
    assert found.outcome == "took"
    assert "sch.bind(" in found.trace


def test_rules_of_ones_own_run_in_the_notebook() -> None:
    found = wb.schedules(one_kernel(), GPU, ["Matmul", Rule("test"), Rule("")])
    assert [(each.rule, each.outcome) for each in found["relu"].attempts] == [
        ("Matmul", "declined"),
        ("Rule", "declined"),
        ("Rule", "took"),
    ]


# -- TVM's own rules


def scheduled_by_tvm(workload: wb.Workload) -> dict[str, Any]:
    """Return the kernels as TVM's own pipeline schedules them, with nothing watched."""
    target, watch = make_target(GPU), Watch(stop=CALLS)
    with target, pass_context(CONTEXT, [watch]):
        pipeline(target, CONTEXT)(workload.module)
    return prim_funcs(watch.first(CALLS))


SAMPLES = ("attention", "branches", "conv_bias_batch_norm", "mlp", "parallel_cast", "resnet18")


@pytest.mark.parametrize(
    "name", breadth([*SAMPLES, "float32 decoder", "float16 decoder"], "attention", "mlp", "float16 decoder")
)
def test_the_named_rule_makes_the_pipelines_schedule(name: str) -> None:
    workload = wb.samples.load(name) if name in SAMPLES else decoder_layer(dtype=name.split()[0])
    theirs = scheduled_by_tvm(workload)
    found = wb.schedules(workload, GPU)
    assert {kernel.name for kernel in found} <= {*theirs}
    target, before = make_target(GPU), Rules()
    with target, pass_context(CONTEXT, [before]):
        pipeline(target, CONTEXT)(workload.module)
    for kernel in found:
        assert kernel.attempts[-1].outcome == "took"
        with target:
            ours = rule_of(kernel.rule, target).apply(before.functions[kernel.name], target, False)
        after = ours.mod["main"].with_attr("tirx.is_scheduled", True)
        assert tvm_ffi.structural_equal(after, theirs[kernel.name]), kernel.name
    built = wb.kernels(workload, GPU).table
    rules = {kernel.name: kernel.rule for kernel in found}
    assert dict(zip(built["function"], built["rule"], strict=True)).items() >= rules.items()


def test_a_rule_that_raises_ends_a_build_and_the_report_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.dialects.relax.compiler.build import COMPILER

    matmul = type(rule_of("Matmul", make_target(GPU)))

    def refuses(_self: Any, _function: Any, _target: Any, _tunable: bool) -> None:
        raise AssertionError

    monkeypatch.setattr(matmul, "apply", refuses)
    workload = one_kernel()
    with pytest.raises(AssertionError):
        COMPILER.compiled(workload, GPU, CONTEXT)
    _, (kernel,) = COMPILER.schedules(workload, GPU, CONTEXT)
    assert (kernel.attempts[0].outcome, kernel.attempts[0].error) == ("raised", "AssertionError: no message")
    assert (kernel.rule, kernel.raised, kernel.taken) == ("", "Matmul", "Fallback")


def convolution(*shapes: tuple[int, ...]) -> wb.Workload:
    builder = relax.BlockBuilder()
    x, kernel = (relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in zip("xk", shapes, strict=True))
    with builder.function("main", [x, kernel]):
        with builder.dataflow():
            y = builder.emit_output(builder.emit(relax.op.nn.conv2d(x, kernel)))
        builder.emit_func_output(y)
    return wb.load(builder.get())


@pytest.mark.parametrize(
    ("shapes", "error"),
    [
        (((1, 1, 6, 8), (1, 1, 1, 3)), "AssertionError: no message"),
        (((1, 1, 3, 10), (1, 1, 1, 2)), "AttributeError: 'FloorDiv' object has no attribute 'value'"),
    ],
)
def test_the_error_of_apache_tvm_20047_is_shown_with_the_next_rule(
    shapes: tuple[tuple[int, ...], ...], error: str
) -> None:
    workload = convolution(*shapes)
    with pytest.raises(MeasureError):
        wb.kernels(workload, GPU)
    found = wb.schedules(workload, GPU)
    (kernel,) = found
    assert (kernel.rule, kernel.raised, kernel.taken) == ("", "GEMV", "Reduction")
    attempt = kernel.attempts[-2]
    assert attempt.error == error
    assert attempt.places[0].text == "assert sch.get(ts_o).extent.value == 1"
    assert "conv2d (1 call): none, the build ends with the error of GEMV; Reduction would take it" in str(found)


def test_a_kernel_without_a_call_is_not_one_of_the_build() -> None:
    builder = relax.BlockBuilder()
    x, w = (relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in (("x", (1, 8, 4)), ("w", (8, 3))))
    with builder.function("main", [x, w]):
        with builder.dataflow():
            mean = builder.emit(relax.op.reshape(relax.op.mean(x, [2], keepdims=True), (1, 8)))
            y = builder.emit_output(relax.op.matmul(mean, w))
        builder.emit_func_output(y)
    workload = wb.load(builder.get())
    names = {kernel.name for kernel in wb.schedules(workload, GPU)}
    assert set(schedule_steps(workload, None, GPU).kernels) == names == {"mean", "matmul"}


def test_a_cpu_has_no_rules_unless_they_are_given() -> None:
    assert [kernel.attempts for kernel in wb.schedules(one_kernel(), "llvm")] == [()]
    (kernel,) = wb.schedules(one_kernel(), "llvm", ["GEMV", "Reduction"])
    assert [each.rule for each in kernel.attempts] == ["GEMV", "Reduction"]


def test_names_that_there_are_not_are_refused() -> None:
    with pytest.raises(MeasureError, match="no rule of dlight named 'GEMM'; did you mean GEMV"):
        wb.schedules(one_kernel(), GPU, ["GEMM"])
    with pytest.raises(MeasureError, match=r"not <class .*GEMV'>; call it: GEMV\(\)"):
        wb.schedules(one_kernel(), GPU, [type(rule_of("GEMV", make_target(GPU)))])
    with pytest.raises(UnknownName, match="relu"):
        wb.schedules(one_kernel(), GPU)["rulu"]


def test_the_report_is_a_table_and_text(tell: Callable[[object], None]) -> None:
    found = wb.schedules(wb.samples.load("mlp"), GPU)
    tell(found)
    assert isinstance(found, Schedules)
    assert found.table[["kernel", "rule", "outcome"]].iloc[-1].tolist() == [found[-1].name, found[-1].rule, "took"]
    assert "<table>" in found._repr_html_()
    assert "declined at" in str(found)


def test_records_are_named_and_those_for_another_target(tmp_path: Path) -> None:
    workload, folder = wb.samples.load("mlp"), str(tmp_path)
    wb.tune_schedules(workload, kernels=[1], trials=1, cost_model="random", budget=0.1, folder=folder)
    config = Config(schedules=folder)
    tuned = wb.schedules(workload, "llvm", config=config)["fused_matmul_add_relu"]
    assert (tuned.recorded, tuned.record, tuned.attempts) == (True, "", ())
    # TVM looks up the kernel, and not the target that its record is for
    gpu = wb.schedules(workload, GPU, config=config)
    assert "a record (tuned for " in str(gpu)
    assert gpu["fused_matmul_add_relu"].record.startswith('tuned for {"kind":"llvm"')
    assert gpu["transpose"].rule == "Fallback"
    wider = wb.schedules(wb.samples.load("mlp", width=48), "llvm", config=config)["fused_matmul_add_relu"]
    assert not wider.recorded
    assert wider.record.startswith("the closest record is of float32[1, 32]")


def test_relay_is_refused_in_a_sentence() -> None:
    from workbench.dialects.compiler.built import Compiler

    with pytest.raises(MeasureError, match="Relay makes its schedules of TE"):
        Compiler.schedules(one_kernel(), GPU, {})
    assert DLIGHT in ("tvm.s_tir.dlight", "tvm.dlight")
    assert tvm.__version__
