"""`wb.try_pass`, `assert_pass` and `wb.where` on Relax: planted faults are found and reduced, right passes raise no alarm."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from breadth import rotating
from page_driver import Page
from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from wrong_passes import WRONG, swaps_if_marked, swaps_operands

import workbench as wb
from workbench.errors import PipelineError, WorkbenchError
from workbench.pipeline.spec import Pipeline
from workbench.testing import assert_pass
from workbench.testing.attempt import Program, Subject, attempted, compare
from workbench.testing.corpus import named_operators
from workbench.testing.result import Failure, Tried
from workbench.widgets.patterns import inspector
from workbench.worker.parent import never

SHORT = ("swaps_operands", "writes_into_its_input")
GENERATED = ["generated"]


@cache
def _tried(name: str) -> Tried:
    return wb.try_pass(WRONG[name][0], GENERATED, budget=20 if name in SHORT else 60)


def _broken(found: Tried, law: str) -> Failure:
    return next(each for each in found.failures if each.law == law)


@pytest.mark.parametrize("name", SHORT)
def test_a_planted_fault_is_found_and_reduced(name: str) -> None:
    check_planted(name)


@pytest.mark.long
@pytest.mark.parametrize("name", rotating((name for name in WRONG if name not in SHORT), 2))
def test_another_planted_fault_is_found_and_reduced(name: str) -> None:
    check_planted(name)


def check_planted(name: str) -> None:
    law = WRONG[name][1]
    found = _tried(name)
    failure = _broken(found, law)
    if failure.workload is not None:
        assert len(failure.workload.graph.ops) <= 8
        assert law in str(found)
        assert not found


def drops_relu(mod: Any) -> Any:
    @relax.expr_functor.mutator
    class Drop(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            made = super().visit_call_(call)  # pyright: ignore[reportAttributeAccessIssue]
            return made.args[0] if getattr(made.op, "name", "") == "relax.nn.relu" else made

    return tvm.IRModule({"main": Drop(mod).visit_expr(mod["main"])})


MIXED = [drops_relu, "DeadCodeElimination", "FoldConstant"]
"a function and named passes"


@pytest.mark.parametrize("run", ["swaps_operands", MIXED])
def test_the_script_of_a_failure_shows_it_with_tvm_alone(tmp_path: Path, run: Any) -> None:
    found = _tried(run) if isinstance(run, str) else wb.try_pass(run, GENERATED, budget=20)
    script = tmp_path / "shows.py"
    script.write_text(_broken(found, "other outputs").script)
    hidden = {**os.environ, "PYTHONPATH": ""}
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=hidden, cwd=tmp_path, check=False
    )
    assert ran.returncode
    assert "AssertionError" in ran.stderr
    assert "workbench" not in script.read_text()


def halves(call: Any) -> Any:
    return call


def uses_another(mod: Any) -> Any:
    tvm.ir.assert_structural_equal(halves(mod), np.zeros(1))
    return mod


def test_the_script_says_what_to_put_into_it() -> None:
    text = wb.try_pass(uses_another, GENERATED, budget=2, reduced=False).failures[0].script
    assert "import numpy as np" in text
    assert "# put your halves here\n" in text
    rewrite = (is_op("relax.exp")(wildcard()), lambda call: call)
    text = wb.try_pass(rewrite, GENERATED, budget=3, reduced=False).failures[0].script
    assert "# put the rewriter of your pattern here: your_pass = ...\n" in text
    assert "    changed = your_pass(mod)\n" in text


def identity(mod: Any) -> Any:
    return mod


@pytest.mark.parametrize("p", [identity, relax.transform.DeadCodeElimination(), "RemoveUnusedOutputs"])
def test_a_right_pass_raises_no_alarm(p: object) -> None:
    found = wb.try_pass(p, budget=6)
    assert not found.failures, str(found)
    assert found.attempts


def test_parameters_of_called_functions_are_no_inputs() -> None:
    text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.nn.relu(p)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = cls.helper(x)
        return y
"""
    found = wb.try_pass("InlinePrivateFunctions", wb.load(text), budget=5)
    assert found.fired
    assert found, str(found)


def test_a_pass_that_fired_nowhere_says_that_nothing_is_known() -> None:
    found = wb.try_pass(identity, GENERATED, budget=3)
    assert "fired on 0 of" in found.summary
    assert "nothing is known" in found.summary
    with pytest.raises(AssertionError, match="nothing is known"):
        assert_pass(identity, GENERATED, budget=3)


def test_a_pass_that_ends_the_process_is_a_failure_and_the_notebook_lives() -> None:
    def ends(mod: Any) -> Any:
        import os

        os.abort()

    found = wb.try_pass(ends, GENERATED, budget=4, reduced=False)
    assert "SIGABRT" in _broken(found, "raises").said


def test_a_pass_that_hangs_is_a_failure() -> None:
    def hangs(mod: Any) -> Any:
        while True:
            pass

    found = wb.try_pass(hangs, GENERATED, budget=2, timeout=1, reduced=False)
    assert "no result within 1 s" in _broken(found, "raises").said


def test_a_rewrite_meets_programs_around_its_pattern() -> None:
    x = wildcard()
    pattern = is_op("relax.nn.relu")(is_op("relax.negative")(x))

    def rewrite(expr: Any, matches: Any) -> Any:
        return relax.op.negative(relax.op.nn.relu(matches[x]))

    found = wb.try_pass((pattern, rewrite), GENERATED, budget=12)
    assert not found.isolated
    assert len(found.fired) >= 5
    failure = _broken(found, "other outputs")
    assert failure.workload is not None
    assert [each.op for each in failure.workload.graph.ops] == [
        "relax.negative",
        "relax.nn.relu",
    ]


def test_the_pattern_of_a_rewriter_object_is_known() -> None:
    x = wildcard()
    pattern = is_op("relax.tanh")(is_op("relax.negative")(is_op("relax.exp")(x)))
    rewriter = relax.dpl.PatternMatchingRewriter.from_pattern(pattern, lambda _, found: relax.op.tanh(found[x]))
    assert len(wb.try_pass(rewriter, GENERATED, budget=4, reduced=False).fired) >= 2


@relax.expr_functor.mutator
class Flips(relax.PyExprMutator):
    def visit_call_(self, call: Any) -> Any:
        return call if call.op.name != "relax.flip" else relax.op.flip(call.args[0], axis=0)


@tvm.transform.module_pass(opt_level=0)
class FlipsPass:
    def transform_module(self, mod: Any, _context: Any) -> Any:
        (made,) = [_flipped(each) for each in (mod,)]
        return made


def _flipped(mod: Any) -> Any:
    made = Flips(mod)
    made.builder_.update_func(mod.get_global_var("main"), made.visit_expr(mod["main"]))
    return made.builder_.get()


@pytest.mark.parametrize("p", [_flipped, FlipsPass()])
def test_the_operators_that_a_mutator_names_are_likely(p: object) -> None:
    assert "relax.flip" in named_operators(p)


def test_more_programs_are_tried_while_it_fires_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.testing.trial.RUNNING", 0.0)
    assert len(wb.try_pass(relax.transform.LegalizeOps(), GENERATED, budget=3, reduced=False).attempts) < 5
    assert len(wb.try_pass(identity, GENERATED, budget=3, reduced=False).attempts) >= 5


def test_a_pattern_that_no_generated_program_has_is_tried_all_the_same() -> None:
    found = wb.try_pass(
        identity, GENERATED, budget=2, pattern='is_op("relax.nn.attention")(wildcard(), wildcard(), wildcard())'
    )
    assert found.attempts


def test_the_page_shows_how_far_a_trial_is_and_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    view = wb.PatternInspector(wb.samples.load("mlp"), 'is_op("relax.nn.relu")(wildcard())')
    page = Page(view)
    shown: list[Any] = []
    begun, stopped = threading.Event(), threading.Event()

    def waits(*_: object, progress: Any, cancelled: Any, **__: object) -> str:
        stopped.wait(0.15)  # progress is shown ten times a second
        progress("generated 7", 0.5)
        shown.append(view.status["busy"])
        begun.set()
        while not cancelled() and not stopped.wait(0.01):
            pass
        return "cancelled" if cancelled() else "not cancelled"

    monkeypatch.setattr(inspector, "try_pass", waits)
    page.press("try")
    assert begun.wait(10)
    page.post({"type": "cancel"})
    assert view.wait(10)
    stopped.set()
    assert shown[0]["what"] == "generated 7"
    assert view.trial is None


def test_the_message_of_assert_pass_holds_the_program() -> None:
    with pytest.raises(AssertionError) as error:
        assert_pass(WRONG["swaps_operands"][0], GENERATED, budget=10)
    assert "R.subtract" in str(error.value)
    assert "def assert_pass" not in str(error.getrepr())
    assert "other outputs" in str(error.value)


def test_a_law_can_be_left_out() -> None:
    assert_pass(WRONG["turns_operands_around"][0], GENERATED, idempotent=False, budget=6)


def test_own_programs_are_tried_with_what_the_pipeline_makes_of_them() -> None:
    found = wb.try_pass("FuseOps", wb.samples.load("mlp"), budget=8)
    assert {each.program.origin for each in found.attempts} == {"own"}
    assert {"mlp", "mlp after LegalizeOps"} <= {each.program.name for each in found.attempts}
    assert list(found.table["outputs"])


def test_a_pass_object_cannot_be_isolated() -> None:
    with pytest.raises(PipelineError, match="lives in one process"):
        wb.try_pass(relax.transform.FoldConstant(), isolated=True)


class Mutator:
    def __call__(self, mod: Any) -> Any:
        return mod


@pytest.mark.parametrize(
    ("p", "on", "dialect", "message"),
    [
        (3, None, None, "not a pass"),
        (Mutator, None, None, r"a class; give an object of it, Mutator\(\)"),
        (relax.transform.FoldConstant, None, None, r"FoldConstant .* takes a module"),
        (lambda mod, ctx: mod, None, None, "takes a module"),
        (is_op("relax.exp")(wildcard()), None, None, "a pattern is not a pass"),
        ("", None, None, "no pass"),
        ("-FoldConstant", None, None, "no pass"),
        ("FoldConstant", [], None, "no program"),
        ("FoldConstant", None, "tensorrt", "tensorrt"),
        ("FoldConstant", None, "relay", "needs a TVM"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_sentence(p: object, on: object, dialect: str | None, message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        wb.try_pass(p, on, dialect=dialect, budget=2)


def test_programs_of_a_dialect_that_is_not_here_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="needs a TVM"):
        wb.testing.program(1, dialect="relay")
    with pytest.raises(WorkbenchError, match="needs a TVM"):
        wb.where("is_op('nn.relu')(wildcard())", dialect="relay")


def test_the_next_pass_of_the_pipeline_is_asked() -> None:
    def hides_the_patterns(mod: Any) -> Any:
        made = mod.clone()
        for name, function in mod.functions.items():
            if isinstance(function, tvm.tirx.PrimFunc):
                made[name] = function.without_attr("op_pattern").with_attr("op_pattern", "none")
        return made

    found = wb.try_pass(hides_the_patterns, wb.samples.load("mlp"), budget=6)
    assert "breaks a neighbouring pass" in [each.law for each in found.failures], str(found)


DIFFERENCE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        z: R.Tensor((4,), "float32") = R.subtract(x, y)
        return z
"""


def marked(mod: Any) -> Any:
    made = mod.clone()
    made["main"] = mod["main"].with_attr("marked", 1)
    return made


@pytest.mark.parametrize(("neighbour", "is_broken"), [(swaps_if_marked, True), (swaps_operands, False)])
def test_outputs_after_a_neighbouring_pass_are_compared(neighbour: Any, is_broken: bool) -> None:
    subject = Subject.of(Pipeline([marked]), 10, None, never)
    (before,) = Pipeline([neighbour])
    found = attempted(subject, Program("difference", "own", wb.load(DIFFERENCE), previous=before))
    assert found.again == {before.name: is_broken}
    compare(subject, found, neighbours=True)
    assert ("breaks a neighbouring pass" in found.faults) == is_broken
    assert found.compared == "equal"


def test_a_pass_that_finds_work_again_is_counted() -> None:
    def raises(_mod: Any) -> Any:
        return wb.samples.load("chain").module

    found = wb.try_pass(raises, wb.samples.load("chain"), budget=6, reduced=False)
    assert "LegalizeOps finds work again on " in found.summary
    assert not found.failures, str(found)


def test_where_counts_matches_and_reasons() -> None:
    found = wb.where('is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())')
    rows = {row["model"]: row for row in found.rows()}
    alone = wb.match(found["mlp"], found.pattern)
    assert rows["mlp"]["matches"] == len(alone.matches) > 0
    assert found.table["matches"].sum() == sum(row["matches"] for row in rows.values())
    assert sum(found.reasons.values()) >= found.table["near_misses"].sum() > 0
    assert not any("node " in reason and "(" in reason.partition("node ")[2][:8] for reason in found.reasons)
    with pytest.raises(wb.WorkbenchError, match="mlp"):
        found["mpl"]


def test_the_pattern_inspector_looks_in_other_models_and_tries_the_pattern() -> None:
    view = wb.PatternInspector(
        wb.samples.load("mlp"), 'is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())'
    )
    found = view.where()
    table = next(block for block in view.panels["tab"] if block["t"] == "table")
    assert [line[0] for line in table["rows"][1:]] == [each.workload.name for each in found.models]
    place = next(place for place, each in enumerate(found.models) if each.workload.name == "bert")
    view._model(place)  # as a click on the row does
    assert view.model.name == "bert"
    assert len(view.findings) == len(found.models[place].report.matches) + len(found.models[place].report.near_misses)
    tried = view.try_pass(budget=4)
    assert tried.fired
    assert any(block.get("text", "").startswith("outline: fired on") for block in view.panels["tab"])


def test_a_single_pattern_alone_says_what_to_give() -> None:
    with pytest.raises(WorkbenchError):
        wb.try_pass((is_op("relax.add")(wildcard(), wildcard()), 3))


INPLACE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 1), "float32"), y: R.Tensor((1, 1, 1), "float32")) -> R.Tensor((1, 1, 1, 1), "float32"):
        with R.dataflow():
            a: R.Tensor((1, 1, 1), "float32") = R.multiply(x, y)
            b: R.Tensor((1, 1, 1, 1), "float32") = R.expand_dims(a, axis=[1])
            c: R.Tensor((1, 1, 1, 1), "float32") = R.subtract(R.const(1.0, "float32"), b)
            R.output(c)
        return c
"""
CYCLE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1), "float32"), w: R.Tensor((1, 1), "float32")) -> R.Tensor((1, 1), "float32"):
        with R.dataflow():
            a: R.Tensor((1, 1), "float32") = R.matmul(x, w)
            b: R.Tensor((1, 1), "float32") = R.tanh(a)
            c: R.Tensor((1, 1), "float32") = R.add(a, b)
            R.output(c)
        return c
"""


SUM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2), "int8"), w: R.Tensor((2, 2), "int8"), i: R.Tensor((2,), "int32")) -> R.Tensor((2, 2), "int32"):
        with R.dataflow():
            a: R.Tensor((2, 2), "int8") = CALL
            b: R.Tensor((2, 2), "int32") = R.matmul(x, a, out_dtype="int32")
            R.output(b)
        return b
"""
HELPER = """
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            q: R.Tensor((4,), "float32") = R.nn.relu(p)
            R.output(q)
        return q

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        with R.dataflow():
            y: R.Tensor((4,), "float32") = cls.helper(x)
            R.output(y)
        return y
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [("ExpandMatmulOfSum", "R.add(w, w)"), ("ReorderTakeAfterMatmul", 'R.take(w, i, axis=1, mode="fast")')],
)
def test_passes_of_tvm_forget_the_type_of_a_matmul(name: str, call: str) -> None:
    found = wb.trace(wb.load(SUM.replace("CALL", call)), name).steps[0]
    assert found.changed
    assert (
        found.after.nodes[found.after.outputs[0]].type != found.before.nodes[found.before.outputs[0]].type or found.flaw
    )


def test_faults_of_tvm_that_tried_passes_showed() -> None:
    scalar = wb.load(SUM.replace("CALL", 'R.add(w, R.const(1, "int8"))')).module
    with pytest.raises(ValueError, match="must not be scalar"):
        relax.transform.ExpandMatmulOfSum()(scalar)
    with pytest.raises(RuntimeError, match="could not be found in any group"):
        relax.transform.MergeCompositeFunctions()(wb.load(HELPER).module)
    bound = relax.transform.BindParams("main", {"x": np.ones((1, 1), "float32")})(wb.load(CYCLE).module)
    with pytest.raises(TypeError, match="Cannot treat type"):
        relax.transform.CombineParallelMatmul()(bound)
    inplace = wb.load(INPLACE).module
    with pytest.raises(ValueError, match="In-place index 0 is out of range"):
        relax.transform.DataflowUseInplaceCalls()(inplace)
    pattern = is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())
    with pytest.raises(RuntimeError, match="cyclic dependency"):
        relax.transform.FuseOpsByPattern([("matched", pattern)])(wb.load(CYCLE).module)
