"""ScheduleStepper: what its page may ask for, what it shows, and that its state is the same from Python and from the page."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from page_driver import Page
from widgets.conforming import misfits_of

import workbench as wb
from workbench.errors import MeasureError, UnknownKeyword, WorkbenchError

pytest.importorskip("tvm.relax")

KERNEL = "fused_matmul_add_relu"
GPU = "cuda -arch=sm_80"


def vectorized(sch: Any) -> None:
    block = sch.get_sblock("matmul")
    _, j, k = sch.get_loops(block)
    outer, inner = sch.split(j, [None, 8])
    sch.reorder(outer, k, inner)
    sch.vectorize(inner)


def on_cpu(schedule: Any = vectorized) -> wb.ScheduleStepper:
    return wb.ScheduleStepper(wb.samples.load("mlp"), KERNEL, "llvm", schedule)


def entry_of(view: wb.ScheduleStepper, place: int) -> dict[str, Any]:
    return dict(view.schedule["steps"][place]["entry"])  # pyright: ignore[reportTypedDictNotRequiredAccess]


def block(view: wb.ScheduleStepper, name: str) -> dict[str, Any] | None:
    return next((dict(each) for each in view.blocks if each.get("name") == name), None)


def split_of(view: wb.ScheduleStepper) -> int:
    return next(place for place, step in enumerate(view.steps) if step.decision)


def test_the_limits_of_a_gpu_bound_the_time_of_a_kernel() -> None:
    view = wb.ScheduleStepper(wb.samples.load("mlp"), KERNEL, "cuda -arch=sm_80", gpu="A100")
    state, facts = view.steps.states[-1], view.schedule["states"][-1]["facts"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    assert state.flops
    assert state.bytes
    assert f"intensity: {state.flops / state.bytes:.3g} FLOP a byte" in facts[-1]
    assert "on A100, by memory (NVIDIA" in facts[-1]
    with pytest.raises(wb.WorkbenchError, match="did you mean A100"):
        wb.ScheduleStepper(wb.samples.load("mlp"), KERNEL, gpu="A10")


def test_a_decision_of_the_page_is_that_of_python(tmp_path: Path) -> None:
    view = on_cpu()
    page, place = Page(view), split_of(view)
    view.step = place
    assert entry_of(view, place)["value"] == "?, 8"
    page.set("schedule-decision", "?, 16")
    assert view.steps.edits == {place: (None, 16)}
    assert view.steps.states[-1].facts["vector width"] == "16"
    assert entry_of(view, place)["label"] == "Changed to"
    assert misfits_of(view) == []
    other = on_cpu()
    other.decide(None, 16, step=place)
    assert other.schedule == view.schedule
    page.click_action("schedule-undo")
    assert view.steps.edits == {}
    assert view.schedule == on_cpu().schedule
    # a value that is not among those of the field is not a request
    page.set("schedule-decision", "?, 999")
    assert view.steps.edits == {}
    page.click_action("schedule-python")
    code = block(view, "schedule-script")
    assert code is not None
    (tmp_path / "script.py").write_text(code["text"])
    assert "T.vectorized" in runpy.run_path(str(tmp_path / "script.py"))["scheduled"].script()


def test_the_check_and_the_code_come_when_they_are_asked_for() -> None:
    view = on_cpu()
    page = Page(view)
    assert block(view, "schedule-checked") is None
    page.click_action("schedule-check")
    assert block(view, "schedule-checked")["text"] == "The values are those of the kernel without a schedule."  # type: ignore[index]
    page.click_action("schedule-code", "llvm")
    source = dict(view.source)
    lines, rows = str(source["text"]).split("\n"), source["rows"]
    assert {
        view.steps.states[-1].rows[row].name
        for line, row in zip(lines, rows, strict=True)
        if "<8 x float>" in line and row
    } == {"matmul"}  # type: ignore[arg-type]
    assert source["note"] == ""
    page.click_action("schedule-code", "perl")
    view.step = split_of(view)
    page.set("schedule-decision", "?, 16")
    # both are of the kernel as it was
    assert block(view, "schedule-checked") is None
    assert view.source == {}
    view.check()
    assert any("with its decisions as at first" in str(each.get("text")) for each in view.blocks)
    assert misfits_of(view) == []


def test_a_gpu_kernel_is_not_run_and_its_code_is_made() -> None:
    view = wb.ScheduleStepper(wb.samples.load("mlp"), KERNEL, GPU)
    assert "the rule Reduction" in view.headline
    assert view.step == len(view.steps) - 1
    button = next(each for each in view.blocks if each.get("act") == "schedule-check")
    assert button.get("off") == "a kernel for a GPU is not run here; wb.check_schedule checks its values"
    with pytest.raises(WorkbenchError, match="is not run here"):
        view.check()
    view.step = 0
    Page(view).click_action("schedule-code", "cuda")
    # its lines are those of the last state's blocks
    assert view.step == len(view.steps) - 1
    source: dict[str, Any] = dict(view.source)
    lines, rows = source["text"].split("\n"), source["rows"]
    kernel = next(number for number, line in enumerate(lines) if "__global__" in line)
    assert rows[:kernel] == [None] * kernel
    last = view.steps.states[-1].rows
    assert {last[row].name for row in rows if row is not None} >= {each.name for each in last if each.kind == "block"}
    assert [number for number, row in enumerate(rows) if row == len(last) - 1] == view.steps.lines("compute")
    assert misfits_of(view) == []


def test_a_failed_step_is_shown_first_and_names_are_escaped(tmp_path: Path) -> None:
    def wrong(sch: Any) -> None:
        vectorized(sch)
        sch.get_sblock("<img src=x onerror=alert(1)>")

    view = on_cpu(wrong)
    assert view.step == len(view.steps) - 1
    assert view.steps[view.step].error != ""
    words = view._still_words(drawn=False)
    assert "&lt;img" in words
    assert "<img" not in words
    assert "<img" not in view.save(tmp_path / "page.html").read_text()
    with pytest.raises(WorkbenchError, match=r"saved as \.html"):
        view.save(tmp_path / "page.png")


def test_wrong_values_are_refused() -> None:
    view = on_cpu()
    with pytest.raises(WorkbenchError, match="there is no step 99; the steps are -1"):
        view.step = 99
    with pytest.raises(WorkbenchError, match="ScheduleStepper takes a Workload, not int"):
        wb.ScheduleStepper(3)
    with pytest.raises(UnknownKeyword, match="hight"):
        wb.ScheduleStepper(wb.samples.load("mlp"), hight=3)
    with pytest.raises(MeasureError, match="step 0 decides nothing"):
        view.decide(4, step=0)


def test_the_kernels_tab_shows_the_schedule_of_a_kernel() -> None:
    bench = wb.Workbench(
        wb.samples.load("mlp"), "EliminateCommonSubexpr, FuseOps, FuseTIR", target=GPU, auto_measure=False
    )
    assert bench.wait()
    page = Page(bench)
    page.change(tab="kernels")
    assert bench.wait()

    def named(name: str) -> dict[str, Any]:
        return next(dict(each) for each in bench.kernels_tab if each.get("name") == name)

    page.click_action("kernels-schedule", named("kernels-table")["args"][0])
    assert "sch.bind(" in named("kernels-steps")["text"]
    workload = bench.session.chosen()[1]
    view = eval(named("kernels-stepper")["text"], {"wb": wb, "workload": workload})
    assert view.steps[-1].text in named("kernels-steps")["text"]
    # that of another configuration is not shown
    bench.toggle("EliminateCommonSubexpr")
    assert bench.wait()
    assert all(each.get("name") != "kernels-steps" for each in bench.kernels_tab)
    bench.close()
