"""GraphView in JupyterLab: real clicks and keys, pixels read back, and the same state in Python."""

from __future__ import annotations

import pytest
from browser.driver import Notebook, View
from browser.views import ADD, DENSE, RELU, TANH, WEIGHT, X
from playwright.sync_api import expect

FIRST, SECOND = 1, 2
"the kernels' ids in Python; the function around them, 0, is not drawn"
CHAIN = (X, DENSE, RELU, TANH)


@pytest.fixture
def view(relax: Notebook) -> View:
    return relax.show("wb.GraphView(BEFORE)")


def test_legend_makes_nodes_faint(view: View) -> None:
    before = view.ink(RELU)
    view.canvas().focus()
    view.press("l")
    view.agree("view.legend", True)
    view.rest()
    expect(view.part("legend")).to_contain_text("nn.dense")
    view.part("shown-nn.relu").click()
    view.agree("view.muted", ["nn.relu"])
    assert view.ink(RELU) < before / 2 < view.ink(DENSE)
    view.tell("view.muted = ['tanh']")
    expect(view.part("shown-nn.relu")).to_be_checked()
    expect(view.part("shown-tanh")).not_to_be_checked()
    assert view.ink(TANH) < before / 2 < view.ink(RELU)

    # one tab stop for the list: arrow keys move in it
    view.part("shown-nn.relu").focus()
    view.press("ArrowRight")
    expect(view.part("only-nn.relu")).to_be_focused()
    view.press("Enter")
    view.agree("sorted(view.muted)", ["add", "nn.dense", "tanh"])
    view.part("all-Operators").focus()
    view.press("Enter")
    view.agree("view.muted", [])

    assert WEIGHT not in view.places()
    view.part("show_constants").click()
    view.until(lambda: WEIGHT in view.places())
    view.agree("view.show_constants", True)
    view.tell("view.show_constants = False")
    view.until(lambda: WEIGHT not in view.places())
    expect(view.part("show_constants")).not_to_be_checked()


def test_data_flows_down_or_right(view: View) -> None:
    down = [view.places()[id][1] for id in CHAIN]
    assert down == sorted(down)
    view.part("legend-toggle").click()
    view.part("direction-right").click()
    view.agree("view.direction", "right")
    view.rest()
    right = [view.places()[id][0] for id in CHAIN]
    assert right == sorted(right)
    assert right[0] < right[-1]
    box = view.canvas().bounding_box()
    assert box
    assert all(0 < x < box["width"] for x in right)
    view.click(DENSE)
    view.press("ArrowRight")
    view.agree("view.selection", [RELU])
    view.tell("view.direction = 'down'")
    view.until(lambda: (lambda now: now == sorted(now) and now[0] < now[-1])([view.places()[id][1] for id in CHAIN]))


def test_groups_open_and_close_from_both_sides(relax: Notebook) -> None:
    view = relax.show(f"wb.GraphView(BEFORE, collapsed=[{SECOND}], muted=['nn.relu'], selection=[{DENSE}])")
    assert set(view.places()) == {X, DENSE, RELU}
    assert view.python("view.selection") == [DENSE]
    assert view.ink(RELU) < view.ink(DENSE) / 2
    view.tell(f"view.collapsed = [{FIRST}]")
    view.until(lambda: DENSE not in view.places())
    assert TANH in view.places()
    view.tell("view.collapsed = []")
    view.until(lambda: DENSE in view.places())
    view.rest()
    view.click(TANH)
    view.press("Enter")
    view.agree("view.collapsed", [SECOND])
    assert TANH not in view.places()
    view.tell("view.collapsed = None")
    view.agree("view.collapsed", [])
    assert TANH in view.places()


def test_camera_follows_the_wheel_the_keys_and_python(view: View) -> None:
    canvas = view.canvas()
    canvas.focus()
    canvas.hover()
    for _ in range(6):
        view.page.mouse.wheel(0, -240)
    # Python hears of the wheel 250 ms later, in the middle of this glide
    view.page.wait_for_timeout(150)
    view.press("f")
    view.rest()
    box = canvas.bounding_box()
    assert box
    assert all(0 < x < box["width"] and 0 < y < box["height"] for x, y, _ in view.places().values())
    view.until(lambda: view.python("view.viewport.get('scale', 9)") <= 1)

    wide = view.places()[X][2]
    view.tell("view.viewport = {'x': 0, 'y': 0, 'scale': 0.5}")
    view.until(lambda: view.places()[X][2] < 0.7 * wide)
    view.rest()
    x = view.places()[X][0]
    view.drag(20, box["height"] - 20, 100, 0)
    assert view.places()[X][0] == pytest.approx(x + 100, abs=2)
    view.until(lambda: view.python("view.viewport['x']") == pytest.approx(-200, abs=4))

    view.press("f")
    view.rest()
    view.click(ADD)
    view.press("s")
    view.rest()
    assert view.places()[ADD][0] == pytest.approx(box["width"] / 2, abs=2)


def test_pointer_and_keys_select(view: View) -> None:
    view.hover(RELU)
    view.agree("view.hovered", RELU)
    plain = view.ink(TANH)
    view.tell(f"view.hovered = {TANH}")
    view.until(lambda: view.ink(TANH) > plain)

    view.click(DENSE)
    view.agree("view.selection", [DENSE])
    view.press("ArrowDown")
    view.agree("view.selection", [RELU])
    view.press("ArrowUp", "ArrowUp")
    view.agree("view.selection", [X])
    view.press("]")
    view.agree("sorted(view.selection)", sorted({X, DENSE, RELU, TANH, ADD}))
    view.click(RELU)
    view.press("e")
    view.agree("sorted(view.selection)", sorted({DENSE, RELU, TANH}))
    view.click(DENSE)
    view.click(TANH, modifiers=["Shift"])
    view.press("p")
    view.agree("sorted(view.selection)", sorted({DENSE, RELU, TANH}))
    view.click(RELU)
    view.part("select-up").click()
    view.agree("sorted(view.selection)", sorted({X, WEIGHT, DENSE, RELU}))
    view.canvas().focus()
    view.press("Escape")
    view.agree("view.selection", [])


def test_keys_in_the_view_are_not_the_notebooks(view: View) -> None:
    """`d d` deletes a cell and an arrow goes to the next one, where the notebook hears them."""
    view.notebook.run_cell("below = 1")
    cells = view.page.locator(".jp-CodeCell").count()
    view.click(DENSE)
    view.press("d", "d", "x", "ArrowDown")
    view.agree("view.selection", [RELU])
    expect(view.canvas()).to_be_focused()
    view.part("legend-toggle").click()
    view.part("shown-tanh").focus()
    view.press("d", "d", "x", "b")
    expect(view.part("shown-tanh")).to_be_focused()
    assert view.page.locator(".jp-CodeCell").count() == cells


def test_search_opens_groups_and_keys_are_listed(relax: Notebook) -> None:
    view = relax.show(f"wb.GraphView(BEFORE, collapsed=[{FIRST}, {SECOND}])")
    view.canvas().focus()
    view.press("/")
    expect(view.part("search")).to_be_focused()
    for query, count in {"dtype:float32 -kind:op": "2", "nothing such": "none", "op:relu": "1"}.items():
        view.part("search").fill(query)
        expect(view.part("found")).to_have_text(count)
    view.press("Enter")
    view.agree("view.selection", [RELU])
    assert view.python("view.collapsed") == [SECOND]
    view.press("Escape")
    expect(view.part("search")).to_have_value("")
    expect(view.canvas()).to_be_focused()
    view.press("?")
    for words in ("move along edges", "dtype:int8", "all paths", "one step more"):
        expect(view.part("keys")).to_contain_text(words)
    view.press("Escape")
    expect(view.part("keys")).to_have_count(0)


@pytest.mark.long
def test_hostile_names_are_text_everywhere(relax: Notebook) -> None:
    view = relax.show("wb.GraphView(hostile.graph(), legend=True)")
    view.part("search").fill("bold")
    view.press("Enter")
    expect(view.part("brief")).to_contain_text("<b>bold</b>")
    expect(view.part("legend")).to_contain_text("<img src=x onerror=")
    view.canvas().hover(position={"x": 200, "y": 200})
    view.page.wait_for_timeout(400)  # a tooltip's patience
    assert view.page.evaluate("window.broken ?? null") is None
    assert view.root.locator("img, b, i, script").count() == 0


@pytest.mark.long
@pytest.mark.parametrize("make", ["wb.GraphView(GraphBuilder('', 'relay').build())", "wb.GraphView(made())"])
def test_graph_of_nothing_or_nearly_nothing_has_a_view(relax: Notebook, make: str) -> None:
    view = relax.show(make)
    view.part("legend-toggle").click()
    view.canvas().focus()
    view.press("f", "s", "e", "]", "ArrowDown", "Enter", "l")
    view.agree("view.legend", False)
