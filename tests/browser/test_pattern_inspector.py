"""PatternInspector in JupyterLab: a pattern typed, why it does not match read, the near miss clicked, the node selected."""

from __future__ import annotations

import pytest
from browser.driver import Notebook, View
from browser.views import DENSE, RELU, TANH
from playwright.sync_api import expect

HOSTILE = 'is_op("<img src=x onerror=window.broken=1>")(None) | is_op("tanh")(is_var("</textarea><b>x"))'


@pytest.fixture
def view(relax: Notebook) -> View:
    return relax.show("wb.PatternInspector(BEFORE)")


def typed(view: View, text: str) -> None:
    view.part("pattern").fill(text)
    view.press("Control+Enter")


def test_pattern_is_typed_and_its_near_miss_selected(view: View) -> None:
    typed(view, 'is_op("tanh")(\n    is_op("exp")(wildcard()))')
    expect(view.part("headline")).to_have_text("no match, 1 near miss")
    expect(view.part("sentence")).to_have_text("nn.relu is not the operator exp")
    expect(view.part("tree").locator("li").nth(1)).to_contain_text("argument 0: exp")
    assert view.part("tree").locator(".wb-look-removed").count() == 1
    view.part("findings").locator("button").first.click()
    view.agree("view.selection", [RELU])
    assert view.python("view.marks['signs'][0][:2]") == [RELU, "!"]

    # an error is shown beside the last result
    typed(view, 'is_op("nn.relu")(None)')
    expect(view.part("headline")).to_contain_text("1 match")
    typed(view, 'is_op("nn.relu")(')
    expect(view.part("problem")).to_contain_text("never closed")
    expect(view.part("headline")).to_contain_text("1 match")
    expect(view.part("pattern")).to_have_value('is_op("nn.relu")(')
    typed(view, 'is_op("tanh")(None)')
    expect(view.part("problem")).to_have_count(0)
    view.agree("[each.root for each in view.findings]", [TANH])


@pytest.mark.long
def test_selected_nodes_make_a_pattern_and_arrows_walk_its_matches(view: View) -> None:
    view.click(DENSE)
    view.part("tab-suggest").click()
    view.part("act-suggest").click()
    expect(view.part("suggested")).to_contain_text("is_op('nn.dense')")
    view.part("act-use").click()
    view.agree("[each.root for each in view.findings]", [DENSE])
    view.tell("""view.pattern = 'is_op("nn.relu")(None) | is_op("tanh")(None)'""")
    expect(view.part("place")).to_have_text("1 of 2")
    view.part("act-on").click()
    expect(view.part("place")).to_have_text("2 of 2")
    view.agree("view.selection", [TANH])
    view.canvas().focus()
    view.press("k")
    view.agree("view.selection", [RELU])


@pytest.mark.long
def test_hostile_text_stays_text(view: View) -> None:
    typed(view, HOSTILE)
    expect(view.part("tree")).to_contain_text("<img src=x onerror=window.broken=1>")
    assert view.root.locator("img, b").count() == 0
    assert view.page.evaluate("window.broken ?? null") is None
    typed(view, "'</textarea><img src=x onerror=window.broken=2>'")
    expect(view.part("problem")).to_be_visible()
    assert view.root.locator("img").count() == 0
    assert view.page.evaluate("window.broken ?? null") is None
