"""The stepper in JupyterLab with the Relay kernel, and from disk with the network cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.driver import Notebook, View
from browser.saved import Saved, saved_page
from playwright.sync_api import Browser, expect
from widgets import hostile

import workbench as wb
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

CAST = """
import tvm
from tvm import relay
x = relay.var("x", shape=(16,), dtype="int8")
cast = tvm.IRModule.from_expr(relay.Function([x], relay.cast(relay.cast(x, "uint8"), "int32")))
"""


TRACE = "wb.trace(w, 'SimplifyInference,EliminateCommonSubexpr,FoldConstant,FuseOps')"


@pytest.fixture
def stepper(relay: Notebook) -> View:
    relay.tell("w = wb.samples.load('parallel_cast')")
    relay.tell(f"t = {TRACE}")
    return shown(relay, "t")


def shown(notebook: Notebook, trace: str) -> View:
    view = notebook.show(f"wb.PassStepper({trace})")
    expect(view.part("kernels-after")).not_to_be_empty()
    return view


def test_keys_slider_and_python_step(stepper: View) -> None:
    expect(stepper.part("kernels-before")).to_have_text("8")
    stepper.agree("view.step", 1)
    stepper.canvas(1).focus()
    stepper.press("j")
    expect(stepper.part("kernels-after")).to_have_text("3")
    stepper.agree("t.steps[view.step].name", "FuseOps")
    stepper.press("k", "k")
    expect(stepper.root.locator(".wb-pane-title").last).to_have_text("after all passes")
    stepper.agree("view.step", -1)

    stepper.part("step-slider").focus()
    stepper.press("ArrowRight")
    stepper.agree("view.step", 1)
    assert stepper.part("pass-0").is_hidden()
    stepper.part("hide-unchanged").click()
    stepper.agree("view.hide_unchanged", False)
    stepper.part("step-slider").focus()
    stepper.press("ArrowLeft")
    stepper.agree("view.step", 0)

    stepper.tell("view.step = 3")
    expect(stepper.part("pass-0")).to_be_visible()
    expect(stepper.part("pass-3")).to_have_attribute("aria-current", "step")
    stepper.tell("view.selection = {'before': [], 'after': [3]}")
    expect(stepper.part("ribbon")).to_be_visible()
    stepper.tell("view.status = {'busy': {'what': 'Checking outputs', 'fraction': None, 'since': 0}}")
    expect(stepper.part("cancel")).to_be_visible()
    ribbon, busy = (stepper.part(name).bounding_box() for name in ("ribbon", "busy"))
    assert ribbon
    assert busy
    assert ribbon["y"] + ribbon["height"] <= busy["y"]


def test_two_pinned_steps_are_compared(stepper: View) -> None:
    stepper.part("pin-1").click(force=True)
    stepper.part("pin-3").click(force=True)
    titles = stepper.root.locator(".wb-pane-title")
    expect(titles.first).to_have_text("A: after EliminateCommonSubexpr")
    expect(titles.last).to_have_text("B: after FuseOps")
    stepper.agree("[view.pinned, view.shows]", [[1, 3], "pinned"])
    stepper.part("tab-code").click()
    stepper.shows("code", "stepper.compare(1, 3)")
    stepper.part("compare-pins").click()
    expect(titles.last).to_have_text("after EliminateCommonSubexpr")
    stepper.tell("view.compare(-1, 1)")
    expect(titles.first).to_have_text("A: the start")


def test_text_picture_and_history_select_nodes(stepper: View) -> None:
    stepper.canvas(1).focus()
    stepper.press("d")
    text = stepper.part("text-diff")
    row = text.locator(".wb-text-row").filter(has_text="cast").first
    row.locator(".wb-text-line").first.click()
    expect(row).to_have_class(re.compile("wb-current"))
    stepper.agree("[t.steps[view.step].before.nodes[id].op for id in view.selection['before']]", ["cast"])
    stepper.tell("after = t.steps[view.step].after.nodes; node = next(n for n in after if n.kind == 'op')")
    stepper.tell("view.selection = {'before': [], 'after': [node.id]}")
    line = stepper.python("node.line")
    expect(text.locator(f".wb-current [data-line='1 {line - 1}']")).to_be_visible()

    stepper.tell("view.step = 3")
    expect(stepper.part("pass-3")).to_have_attribute("aria-current", "step")
    stepper.tell("merged = next(a for many, a in t.steps[1].diff.merged); line = t.lineage(1, merged)")
    stepper.tell("view.selection = {'before': [], 'after': [line.ends[0]]}")
    expect(stepper.part("ribbon-0")).to_have_text("cast \N{MULTIPLICATION SIGN} 2")
    stepper.part("ribbon-0").click()
    expect(stepper.part("pass-1")).to_have_attribute("aria-current", "step")
    stepper.agree("view.selection['before']", stepper.python("list(line.origins)"))


def test_pass_that_fails_and_pass_that_changes_the_answer_are_marked(relay: Notebook) -> None:
    relay.run_cell("def broken(mod):\n    raise ValueError('this pass is <b>broken</b>')")
    view = shown(relay, "wb.trace(wb.samples.load('parallel_cast'), ['EliminateCommonSubexpr', broken])")
    view.shows("error", "this pass is <b>broken</b>")
    expect(view.part("kernels-after")).to_have_text("6")
    expect(view.root.locator(".wb-pass-error")).to_have_count(1)

    relay.run_cell(CAST)
    view = shown(relay, "wb.trace(wb.load(cast), 'FoldConstant,SimplifyExpr')")
    view.part("check").click()
    expect(view.root.locator(".wb-pass-error")).to_have_count(1)
    view.shows("error", "SimplifyExpr changed the outputs")
    assert view.python("[c['status'] for c in view.checks.values()]") == ["different"]


# -- from disk


def chain(*ops: str) -> Graph:
    b = GraphBuilder("chain", "relay")
    at = b.node("param", "x", type="Tensor[(1, 16), float32]")
    for line, op in enumerate(ops, 2):
        at = b.node("op", op, (at,), type="Tensor[(1, 16), float32]", line=line)
    b.outputs = [at]
    return b.build()


def state(graph: Graph, text: str) -> State:
    return State(None, lambda: graph, lambda: text)


def printed(*ops: str) -> State:
    body = "\n".join(f"  %{i} = {op}(%x)" for i, op in enumerate(ops))
    return state(chain(*ops), f"def @main(%x) {{\n{body}\n}}")


def replayed() -> Trace:
    a, b, c, d = (
        printed("exp", "relu"),
        printed("exp", "relu", "tanh"),
        printed("exp", "relu", "sigmoid"),
        printed("exp"),
    )
    steps = [
        Step("Add", a, b, "changed", 0.01),
        Step("Quiet", b, b, "same"),
        Step("Swap", b, c, "changed"),
        Step("Drop", c, d, "changed"),
    ]
    return Trace("replay", "relay", tuple(steps), a, 3)


@pytest.fixture
def saved(browser: Browser) -> Iterator[Saved]:
    with saved_page(browser) as saved:
        yield saved


def test_saved_stepper(saved: Saved, tmp_path: Path) -> None:
    saved.open(wb.PassStepper(replayed()).save(tmp_path / "x.html"))
    expect(saved.part("sizes-after")).to_contain_text("3 ops")
    assert ">tanh</text>" in saved.svg()
    saved.part("canvas-after").focus()
    saved.page.keyboard.press("j")
    expect(saved.page.locator(".wb-pane-title").last).to_have_text("after Swap")
    assert ">sigmoid</text>" in saved.svg()
    saved.page.keyboard.press("d")
    changed = saved.part("text-diff").locator(".wb-text-changed, .wb-text-removed, .wb-text-added")
    expect(changed.first).to_contain_text("tanh")
    saved.part("text-diff").locator("[data-line='1 1']").click()
    expect(saved.part("ribbon")).to_contain_text("exp")
    saved.part("pin-0").click(force=True)
    saved.part("pin-3").click(force=True)
    expect(saved.page.locator(".wb-pane-title").last).to_have_text("B: after Drop")
    expect(saved.part("sizes-after")).to_contain_text("1 op")
    expect(saved.part("chip-removed")).to_contain_text("2")
    assert saved.page.locator("[data-testid='check']").count() == 0


@pytest.mark.long
def test_hostile_names_stay_text(saved: Saved, tmp_path: Path) -> None:
    text = "\n".join(hostile.NAMES)
    first, last = state(hostile.graph(), text), state(hostile.changed(), text.replace("bold", "<img src=x>"))
    steps = [Step(name[:200], first, last, "changed") for name in hostile.NAMES]
    steps.append(Step(hostile.NAMES[0], last, last, "error", error=hostile.NAMES[1], detail=hostile.NAMES[2]))
    saved.open(wb.PassStepper(Trace(hostile.NAMES[1], "relay", tuple(steps), first, 3)).save(tmp_path / "x.html"))
    for step in range(4):
        saved.part(f"pass-{step}").click()
    saved.part("tab-text").click()
    saved.part("text-unfold").click()
    saved.part("text-search").fill("script")
    expect(saved.part("text-diff").locator(".wb-text-found")).to_have_count(1)
    saved.part("text-diff").locator(".wb-text-row").nth(2).click()
    assert saved.page.evaluate("window.broken") is None
    assert saved.page.locator("img, b, i, svg[onload]").count() == 0
