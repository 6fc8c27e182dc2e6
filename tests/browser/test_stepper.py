"""The stepper as a person uses it: in JupyterLab with the Relay kernel, and from disk with the network cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from browser.test_saved_html import Saved
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


@pytest.fixture(scope="module")
def notebook(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A page of its own with the Relay kernel."""
    with living_page(browser) as page:
        notebook = lab.open(page, "00_quickstart.ipynb")
        notebook.run_cell("import workbench as wb\nw = wb.samples.load('parallel_cast')")
        notebook.run_cell("t = wb.trace(w, 'SimplifyInference,EliminateCommonSubexpr,FoldConstant,FuseOps')")
        yield notebook


def show(notebook: Notebook, source: str) -> None:
    views = notebook.page.locator(".wb-stepper").count()
    notebook.run_cell(f"view = {source}\nview")
    expect(notebook.page.locator(".wb-stepper")).to_have_count(views + 1, timeout=BRIEFLY)
    expect(notebook.part("kernels-after")).not_to_be_empty(timeout=BRIEFLY)


@pytest.fixture
def stepper(notebook: Notebook) -> Notebook:
    show(notebook, "wb.PassStepper(t)")
    return notebook


def test_keys_step_through_what_changed_and_python_follows(stepper: Notebook) -> None:
    expect(stepper.part("kernels-before")).to_have_text("8", timeout=BRIEFLY)
    stepper.agree("view.step", 1)
    stepper.part("canvas-after").focus()
    stepper.page.keyboard.press("j")
    expect(stepper.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)
    stepper.agree("t.steps[view.step].name", "FuseOps")
    stepper.page.keyboard.press("k")
    stepper.page.keyboard.press("k")
    expect(stepper.page.locator(".wb-pane-title").last).to_have_text("after all passes", timeout=BRIEFLY)
    stepper.agree("view.step", -1)


def test_the_arrow_keys_move_the_slider_over_what_the_list_shows(stepper: Notebook) -> None:
    stepper.part("step-slider").focus()
    stepper.page.keyboard.press("ArrowRight")
    stepper.agree("view.step", 3)
    stepper.part("hide-unchanged").click()
    stepper.agree("view.hide_unchanged", False)
    stepper.part("step-slider").focus()
    stepper.page.keyboard.press("ArrowLeft")
    stepper.agree("view.step", 2)


def test_python_steps_selects_and_hides(stepper: Notebook) -> None:
    assert stepper.page.locator("[data-testid='pass-0']").last.is_hidden()
    stepper.python("(setattr(view, 'hide_unchanged', False), setattr(view, 'step', 3))[0]")
    expect(stepper.page.locator("[data-testid='pass-0']").last).to_be_visible(timeout=BRIEFLY)
    expect(stepper.part("pass-3")).to_have_attribute("aria-current", "step", timeout=BRIEFLY)
    stepper.python("setattr(view, 'selection', {'before': [], 'after': [3]})")
    expect(stepper.part("ribbon")).to_be_visible(timeout=BRIEFLY)


def test_the_filter_leaves_what_matches(stepper: Notebook) -> None:
    stepper.part("filter").fill("fuse")
    expect(stepper.part("pass-1")).to_be_hidden(timeout=BRIEFLY)
    expect(stepper.part("pass-3")).to_be_visible(timeout=BRIEFLY)


def test_two_pinned_steps_are_compared_and_the_code_says_so(stepper: Notebook) -> None:
    stepper.part("pin-1").click(force=True)
    stepper.part("pin-3").click(force=True)
    titles = stepper.page.locator(".wb-stepper").last.locator(".wb-pane-title")
    expect(titles.first).to_have_text("A: after EliminateCommonSubexpr", timeout=BRIEFLY)
    expect(titles.last).to_have_text("B: after FuseOps", timeout=BRIEFLY)
    stepper.agree("[view.pinned, view.shows]", [[1, 3], "pinned"])
    stepper.part("tab-code").click()
    expect(stepper.part("code")).to_contain_text("stepper.compare(1, 3)", timeout=BRIEFLY)
    stepper.part("compare-pins").click()
    expect(titles.last).to_have_text("after EliminateCommonSubexpr", timeout=BRIEFLY)
    stepper.python("view.compare(-1, 1)")
    expect(titles.first).to_have_text("A: the start", timeout=BRIEFLY)


def test_text_and_picture_select_each_other(stepper: Notebook) -> None:
    stepper.part("canvas-after").focus()
    stepper.page.keyboard.press("d")
    text = stepper.part("text-diff")
    row = text.locator(".wb-text-row").filter(has_text="cast").first
    row.locator(".wb-text-line").first.click()
    expect(row).to_have_class(re.compile("wb-current"), timeout=BRIEFLY)
    stepper.agree("len(view.selection['before'])", 1)
    chosen = stepper.python("view.selection['before'][0]")
    stepper.agree(f"t.steps[view.step].before.nodes[{chosen}].op", "cast")
    line = stepper.python("next(n.line for n in t.steps[view.step].after.nodes if n.op == 'exp' or n.kind == 'op')")
    node = stepper.python(f"next(n.id for n in t.steps[view.step].after.nodes if n.line == {line} and n.kind == 'op')")
    stepper.python(f"setattr(view, 'selection', {{'before': [], 'after': [{node}]}})")
    expect(text.locator(f".wb-current [data-line='1 {line - 1}']")).to_be_visible(timeout=BRIEFLY)


def test_a_link_of_the_history_goes_to_its_step_with_the_node_selected(stepper: Notebook) -> None:
    stepper.python("setattr(view, 'step', 3)")
    expect(stepper.part("pass-3")).to_have_attribute("aria-current", "step", timeout=BRIEFLY)
    merged = stepper.python("next(a for many, a in t.steps[1].diff.merged)")
    end = stepper.python(f"t.lineage(1, {merged}).ends[0]")
    stepper.python(f"setattr(view, 'selection', {{'before': [], 'after': [{end}]}})")
    # every stepper has a ribbon; its links are those of the newest one only when that is there
    expect(stepper.part("ribbon")).to_be_visible(timeout=BRIEFLY)
    stepper.part("ribbon").locator("[data-testid='ribbon-0']").click()
    expect(stepper.part("pass-1")).to_have_attribute("aria-current", "step", timeout=BRIEFLY)
    origins = stepper.python(f"list(t.lineage(1, {merged}).origins)")
    stepper.agree("view.selection['before']", origins)


def test_a_pass_that_fails_is_red_and_leaves_the_last_good_picture(notebook: Notebook) -> None:
    notebook.run_cell("def broken(mod):\n    raise ValueError('this pass is <b>broken</b>')")
    show(notebook, "wb.PassStepper(wb.trace(w, ['EliminateCommonSubexpr', broken]))")
    expect(notebook.part("error")).to_contain_text("this pass is <b>broken</b>", timeout=BRIEFLY)
    expect(notebook.part("kernels-after")).to_have_text("6", timeout=BRIEFLY)
    expect(notebook.page.locator(".wb-stepper").last.locator(".wb-pass-error")).to_have_count(1)


def test_a_pass_that_changes_the_answer_is_found_on_request(notebook: Notebook) -> None:
    notebook.run_cell(CAST)
    show(notebook, "wb.PassStepper(wb.trace(wb.load(cast), 'FoldConstant,SimplifyExpr'))")
    notebook.part("check").click()
    expect(notebook.page.locator(".wb-stepper").last.locator(".wb-pass-error")).to_have_count(1, timeout=60_000)
    expect(notebook.part("error")).to_contain_text("SimplifyExpr changed the answer", timeout=BRIEFLY)
    assert notebook.python("[c['status'] for c in view.checks.values()]") == ["different"]


def test_the_workbench_has_the_text_too(notebook: Notebook) -> None:
    notebook.run_cell("bench = wb.Workbench(w, auto_measure=False)\nbench")
    expect(notebook.part("kernels-after")).to_have_text("3", timeout=BRIEFLY)
    notebook.part("canvas-after").focus()
    notebook.page.keyboard.press("d")
    expect(notebook.part("text-diff").locator(".wb-text-row").first).to_be_visible(timeout=BRIEFLY)
    expect(notebook.part("text-diff")).to_contain_text("Primitive=1", timeout=BRIEFLY)


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
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    saved = Saved(context.new_page())
    yield saved
    assert saved.failed == []
    assert [url for url in saved.asked if not url.startswith("blob:")] == []
    context.close()


def test_a_saved_stepper_steps_pins_reads_and_follows_with_no_network(saved: Saved, tmp_path: Path) -> None:
    saved.open(wb.PassStepper(replayed()).save(tmp_path / "x.html"))
    expect(saved.part("sizes-after")).to_contain_text("3 ops", timeout=BRIEFLY)
    assert ">tanh</text>" in saved.svg()
    saved.part("canvas-after").focus()
    saved.page.keyboard.press("j")
    expect(saved.page.locator(".wb-pane-title").last).to_have_text("after Swap", timeout=BRIEFLY)
    assert ">sigmoid</text>" in saved.svg()
    saved.page.keyboard.press("d")
    changed = saved.part("text-diff").locator(".wb-text-changed, .wb-text-removed, .wb-text-added")
    expect(changed.first).to_contain_text("tanh", timeout=BRIEFLY)
    saved.part("text-diff").locator("[data-line='1 1']").click()
    expect(saved.part("ribbon")).to_contain_text("exp", timeout=BRIEFLY)
    saved.part("pin-0").click(force=True)
    saved.part("pin-3").click(force=True)
    expect(saved.page.locator(".wb-pane-title").last).to_have_text("B: after Drop", timeout=BRIEFLY)
    expect(saved.part("sizes-after")).to_contain_text("1 op", timeout=BRIEFLY)
    expect(saved.part("chip-removed")).to_contain_text("2", timeout=BRIEFLY)
    assert saved.page.locator("[data-testid='check']").count() == 0


def test_nothing_that_a_module_says_becomes_markup(saved: Saved, tmp_path: Path) -> None:
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
    expect(saved.part("text-diff").locator(".wb-text-found")).to_have_count(1, timeout=BRIEFLY)
    saved.part("text-diff").locator(".wb-text-row").nth(2).click()
    assert saved.page.evaluate("window.broken") is None
    assert saved.page.locator("img, b, i, svg[onload]").count() == 0
