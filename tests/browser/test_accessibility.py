"""axe-core finds nothing serious in any widget, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser.driver import Notebook, View
from playwright.sync_api import Page, expect

AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
THEMES: dict[str, list[str] | None] = {"JupyterLab Light": None, "JupyterLab Dark": ["color-contrast"]}
"the rules to run in each theme, None for all: a theme changes only colours"
PASSES = "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps"
PATTERN = """'is_op("tanh")(is_op("exp")(wildcard()))'"""
WIDGETS = {
    "GraphView": "wb.GraphView(BEFORE, legend=True, selection=[2])",
    "CompareView": "wb.CompareView(BEFORE, AFTER, legend=True)",
    "PassStepper": f"wb.PassStepper(wb.trace(w, '{PASSES}'))",
    "Workbench": f"wb.Workbench(w, '{PASSES}', auto_measure=False)",
    "FusionInspector": "wb.FusionInspector(BEFORE, selection=[2, 3])",
    "PatternInspector": f"wb.PatternInspector(BEFORE, {PATTERN})",
    "MemoryView": "wb.MemoryView(wb.memory(w))",
    "Predict": "wb.Predict('How many kernels?', 3)",
    "CompilerView": "wb.CompilerView(__import__('widgets.compared', fromlist=['pair']).pair(), legend=True)",
    "TunePanel": "wb.TunePanel(w, objective='kernels', trials=2, check=False, store=False, log=None)",
}
LIGHT, DARK = THEMES
RUNS = [
    pytest.param(LIGHT, [*WIDGETS], id="light"),
    pytest.param(DARK, ["CompareView", "CompilerView"], id="dark"),
    pytest.param(DARK, [*WIDGETS], id="all in dark", marks=pytest.mark.long),
]
FOUND = """
async (root, rules) => {
  const { violations } = await axe.run(root, { resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
  return violations
    .filter((each) => each.impact === "serious" || each.impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.length} times, such as ${nodes[0].html.slice(0, 160)} ${nodes[0].any[0]?.message ?? ""}`);
}
"""


@pytest.fixture
def page(relax: Notebook) -> Page:
    """The shared page at the size of a laptop, with axe-core in it."""
    relax.tell("w = wb.samples.load('parallel_cast')")
    relax.page.set_viewport_size({"width": 1280, "height": 800})
    if not relax.page.evaluate("'axe' in window"):
        relax.page.add_script_tag(path=AXE)
    return relax.page


@pytest.mark.parametrize(("theme", "names"), RUNS)
def test_axe_finds_nothing_serious(relax: Notebook, page: Page, theme: str, names: list[str]) -> None:
    found: dict[str, list[str]] = {}
    with themed(page, theme):
        for name in names:
            relax.clear()
            view = relax.show(WIDGETS[name])
            assert relax.python("getattr(view, 'wait', lambda: True)()")
            expect(view.root.locator("button").first).to_be_attached()
            found |= {f"{name}, {tab}": faults for tab, faults in faults_of(view, THEMES[theme]) if faults}
    assert not found, "\n".join(f"{at}: {each}" for at in found for each in found[at])


@contextmanager
def themed(page: Page, theme: str) -> Iterator[None]:
    """Change JupyterLab's theme, and back to the light one at the end."""
    choose(page, theme)
    yield
    choose(page, "JupyterLab Light")


def choose(page: Page, theme: str) -> None:
    page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    page.wait_for_function("(theme) => document.body.dataset.jpThemeName === theme", arg=theme)


def faults_of(view: View, rules: list[str] | None) -> Iterator[tuple[str, list[str]]]:
    """Yield the faults that axe finds at first, and in the panel of each tab."""
    view.page.wait_for_timeout(300)  # colours glide
    yield "at first", view.root.evaluate(FOUND, rules)
    for tab in view.root.get_by_role("tab").all():
        tab.click()
        assert view.python("getattr(view, 'wait', lambda: True)()")
        view.page.wait_for_timeout(200)
        panel = view.root.locator(f"id={tab.get_attribute('aria-controls')}")
        yield tab.text_content() or "", panel.evaluate(FOUND, rules)


def test_axe_sees_a_fault(relax: Notebook, page: Page) -> None:
    view = relax.show("wb.Predict('How many kernels?', 3)")
    expect(view.root.locator("button").first).to_be_attached()
    view.root.evaluate("(root) => root.append(document.createElement('button'))")
    assert [fault.split(":")[0] for fault in view.root.evaluate(FOUND)] == ["button-name"]


CONTROLS = {"button", "checkbox", "combobox", "searchbox", "textbox", "slider", "application", "tab"}


@pytest.mark.long
@pytest.mark.parametrize("name", ["GraphView", "CompareView", "Workbench"])
def test_screen_reader_has_a_name_for_every_control(relax: Notebook, page: Page, name: str) -> None:
    view = relax.show(WIDGETS[name])
    session = page.context.new_cdp_session(page)
    root = session.send("Runtime.evaluate", {"expression": "[...document.querySelectorAll('.wb')].at(-1)"})
    tree = session.send("Accessibility.queryAXTree", {"objectId": root["result"]["objectId"]})
    found = [(node["role"]["value"], node["name"]["value"].strip()) for node in tree["nodes"] if not node["ignored"]]
    found = [(role, name) for role, name in found if role in CONTROLS]
    assert len(found) > 15
    assert {"application", "searchbox", "checkbox", "button"} <= {role for role, _ in found}
    assert [pair for pair in found if not pair[1]] == []
    assert view.root.is_visible()
