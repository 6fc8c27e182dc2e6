"""PatternInspector in JupyterLab: a pattern typed, why it does not match read, the near miss clicked, the node selected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from browser.views import DENSE, RELU, TANH, OnPage, notebook
from playwright.sync_api import Browser, expect

HOSTILE = 'is_op("<img src=x onerror=window.broken=1>")(None) | is_op("tanh")(is_var("</textarea><b>x"))'


@pytest.fixture(scope="module")
def opened(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A notebook for all tests here; each makes a view of its own."""
    with living_page(browser, 1400, 1100) as page:
        yield notebook(lab, page)


@pytest.fixture
def view(opened: Notebook) -> OnPage:
    return OnPage(opened, "wb.PatternInspector(BEFORE)")


def typed(view: OnPage, text: str) -> None:
    view.part("pattern").fill(text)
    view.press("Control+Enter")


def test_a_pattern_is_typed_its_near_miss_read_and_clicked_and_the_node_is_selected(view: OnPage) -> None:
    typed(view, 'is_op("tanh")(\n    is_op("exp")(wildcard()))')
    expect(view.part("headline")).to_have_text("no match, 1 near miss", timeout=BRIEFLY)
    expect(view.part("sentence")).to_have_text("nn.relu is not the operator exp")
    expect(view.part("tree").locator("li").nth(1)).to_contain_text("argument 0: exp")
    assert view.part("tree").locator(".wb-look-removed").count() == 1
    view.part("findings").locator("button").first.click()
    view.until(lambda: view.python("view.selection") == [RELU])
    assert view.python("view.marks['signs'][0][:2]") == [RELU, "!"]


def test_what_cannot_be_read_is_said_beside_it_and_the_last_result_stays(view: OnPage) -> None:
    typed(view, 'is_op("nn.relu")(None)')
    expect(view.part("headline")).to_contain_text("1 match", timeout=BRIEFLY)
    typed(view, 'is_op("nn.relu")(')
    expect(view.part("problem")).to_contain_text("never closed", timeout=BRIEFLY)
    expect(view.part("headline")).to_contain_text("1 match")
    expect(view.part("pattern")).to_have_value('is_op("nn.relu")(')
    typed(view, 'is_op("tanh")(None)')
    expect(view.part("problem")).to_have_count(0, timeout=BRIEFLY)
    view.until(lambda: view.python("[each.root for each in view.findings]") == [TANH])


def test_a_click_on_the_graph_asks_for_a_pattern_and_the_arrows_walk(view: OnPage) -> None:
    view.click(DENSE)
    view.part("tab-suggest").click()
    view.part("act-suggest").click()
    expect(view.part("suggested")).to_contain_text("is_op('nn.dense')", timeout=BRIEFLY)
    view.part("act-use").click()
    view.until(lambda: view.python("[each.root for each in view.findings]") == [DENSE])
    view.tell("""view.pattern = 'is_op("nn.relu")(None) | is_op("tanh")(None)'""")
    expect(view.part("place")).to_have_text("1 of 2", timeout=BRIEFLY)
    view.part("act-on").click()
    expect(view.part("place")).to_have_text("2 of 2", timeout=BRIEFLY)
    view.until(lambda: view.python("view.selection") == [TANH])
    view.canvas().focus()
    view.press("k")
    view.until(lambda: view.python("view.selection") == [RELU])


def test_hostile_text_stays_text(view: OnPage) -> None:
    typed(view, HOSTILE)
    view.until(lambda: view.python("view.report is not None or bool(view._problem)"))
    expect(view.part("tree")).to_contain_text("<img src=x onerror=window.broken=1>", timeout=BRIEFLY)
    assert view.root.locator("img, b").count() == 0
    assert view.page.evaluate("() => window.broken") is None
    typed(view, "'</textarea><img src=x onerror=window.broken=2>'")
    expect(view.part("problem")).to_be_visible(timeout=BRIEFLY)
    assert view.root.locator("img").count() == 0
    assert view.page.evaluate("() => window.broken") is None
