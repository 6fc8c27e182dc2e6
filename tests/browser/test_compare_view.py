"""CompareView in JupyterLab: real clicks and keys, pixels read back, and the same state in Python."""

from __future__ import annotations

import pytest
from browser.driver import Notebook, View
from browser.views import DENSE, RELU, TANH, X
from playwright.sync_api import expect

SIGMOID, EXP = 4, 5
"tanh became sigmoid and exp"
MARKS = ("kept", "changed", "removed", "added", "merged", "split")


@pytest.fixture
def view(relax: Notebook) -> View:
    return relax.show("wb.CompareView(BEFORE, AFTER)")


def selections(view: View, count: int, step: str) -> set[str]:
    """The selections after each of some presses of a key, or clicks on a part."""
    seen = set()
    for _ in range(count):
        if len(step) == 1:
            view.press(step)
        else:
            view.part(step).click()
        view.page.wait_for_timeout(150)
        seen.add(str(view.python("view.selection")))
    return seen


def test_changes_are_walked_by_key_and_by_counter(view: View) -> None:
    view.canvas().focus()
    assert len(selections(view, 3, "n")) == 3
    counts = view.python("{k: n for k, n in view.changes.counts.items() if n and k != 'kept'}")
    assert len(counts) > 1
    for kind, count in counts.items():
        expect(view.part(f"chip-{kind}")).to_contain_text(f"{count} {kind}")
        assert len(selections(view, count, f"chip-{kind}")) == count
        side = "before" if kind == "removed" else "after"
        column = view.python(f"list(view.diff['{side}_mark'])")
        assert [MARKS[column[id]] for id in view.python(f"view.selection[{side!r}]")] == [kind]

    view.press("Escape")
    before = view.ink(RELU)
    view.part("legend-toggle").click()
    view.part("shown-mark:kept").click()
    view.agree("view.muted", ["mark:kept"])
    view.rest()
    assert view.ink(RELU) < before / 2 < view.ink(TANH)


def test_divider_drags_and_nothing_on_hover_covers_a_count(view: View) -> None:
    first = [view.canvas(side).bounding_box() for side in (0, 1)]
    edge = view.part("edge-left")
    place = edge.bounding_box()
    assert place
    view.page.mouse.move(place["x"] + 3, place["y"] + 200)
    view.page.mouse.down()
    view.page.mouse.move(place["x"] + 103, place["y"] + 200, steps=4)
    view.page.mouse.up()
    view.rest()
    moved = [view.canvas(side).bounding_box() for side in (0, 1)]
    widths = [round(now["width"] - before["width"]) for before, now in zip(first, moved, strict=True) if before and now]
    assert widths == [100, -100]
    assert edge.get_attribute("aria-valuenow") == str(round((moved[1] or {})["width"]) + 1)
    edge.dblclick()
    view.until(lambda: view.canvas(1).bounding_box() == first[1])

    view.part("legend-toggle").click()
    row = view.part("only-tanh").locator("..")
    row.hover()
    only, count = (row.locator(css).bounding_box() for css in (".wb-only", ".wb-number"))
    assert only
    assert count
    assert only["x"] + only["width"] <= count["x"]


def test_first_tab_onto_the_graph_shows_a_ring(view: View) -> None:
    view.root.locator(".wb-bar button:visible").last.evaluate("(e) => e.focus()")
    view.press("Tab")
    expect(view.canvas()).to_be_focused()
    expect(view.canvas()).to_have_css("outline-style", "solid")
    view.click(RELU)
    expect(view.canvas()).to_have_css("outline-style", "none")


def test_modes_show_the_changes_or_both_graphs_in_one(view: View) -> None:
    assert X in view.places()
    view.canvas().focus()
    view.press("c")
    view.agree("view.mode", "changed")
    view.rest()
    one = len(view.places(1))
    view.part("hops").select_option("0")
    view.agree("view.hops", 0)
    view.until(lambda: len(view.places(1)) < one)
    assert RELU not in view.places()
    view.tell("view.hops = 7")
    view.until(lambda: RELU in view.places())
    expect(view.part("hops")).to_have_value("7")

    # to show a node that is left out ends the mode
    view.tell("view.hops = 0")
    view.until(lambda: X not in view.places())
    view.tell(f"view.show([{X}], side='before')")
    view.until(lambda: X in view.places())
    view.agree("view.mode", "split")
    expect(view.part("mode-split")).to_have_attribute("aria-pressed", "true")

    view.tell("view.direction = 'right'")
    view.until(lambda: view.places()[X][0] < view.places()[RELU][0])
    view.rest()
    before, after = (view.canvas(side).bounding_box() for side in (0, 1))
    assert before
    assert after
    assert before["x"] == after["x"]
    assert before["y"] + before["height"] < after["y"]

    view.part("mode-overlay").click()
    expect(view.part("canvas-overlay")).to_be_visible()
    view.agree("view.mode", "overlay")
    view.rest()
    assert TANH in view.places(0)
    assert SIGMOID in view.places(1)
    assert view.root.locator("canvas.wb-canvas").count() == 1


def test_both_panes_select_move_and_collapse_together(view: View) -> None:
    view.click(DENSE, side=1)
    view.agree("view.selection", {"before": [DENSE], "after": [DENSE]})
    view.hover(RELU, side=1)
    view.agree("view.hovered", {"before": [RELU], "after": [RELU]})
    before = view.part("canvas-before").screenshot()
    view.page.mouse.wheel(0, -200)
    view.rest()
    assert view.part("canvas-before").screenshot() != before
    view.until(lambda: view.python("view.viewport.get('scale', 0)") > 0)
    view.press("f")
    view.rest()

    assert view.python("view.collapsed") == {"before": [], "after": []}
    view.tell("view.collapsed = {'after': [1]}")
    view.until(lambda: DENSE not in view.places())
    # one box that both sides have
    view.agree("view.collapsed", {"before": [1], "after": [1]})
    view.tell("view.collapsed = {}")
    view.until(lambda: DENSE in view.places())
    view.rest()
    view.click(DENSE)
    view.press("Enter")
    view.agree("view.collapsed", {"before": [1], "after": [1]})
    # a group that the user closed stays closed in other graphs
    view.tell("view.compare(BEFORE, made('nn.dense', 'nn.relu', 'exp', 'add'))")
    view.rest()
    assert DENSE not in view.places()
    assert view.python("view.collapsed") == {"before": [1], "after": [1]}
