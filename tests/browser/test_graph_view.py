"""GraphView in JupyterLab: real clicks and keys, pixels read back, and the same state in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from browser.views import ADD, DENSE, RELU, TANH, WEIGHT, OnPage, X, notebook
from playwright.sync_api import Browser, expect

FIRST, SECOND = 1, 2
"the kernels' ids in Python; the function around them, 0, is not drawn"


@pytest.fixture(scope="module")
def opened(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A notebook for all tests here; each makes a view of its own."""
    with living_page(browser, 1400, 1000) as page:
        yield notebook(lab, page)


@pytest.fixture
def view(opened: Notebook) -> OnPage:
    return OnPage(opened, "wb.GraphView(BEFORE)")


def test_the_legend_counts_op_types_and_each_switch_makes_its_nodes_faint(view: OnPage) -> None:
    before = view.ink(RELU)
    view.part("legend-toggle").click()
    view.until(lambda: view.python("view.legend"))
    view.rest()
    expect(view.part("legend")).to_contain_text("nn.dense")
    view.part("shown-nn.relu").click()
    view.until(lambda: view.python("view.muted") == ["nn.relu"])
    assert view.ink(RELU) < before / 2 < view.ink(DENSE)
    view.tell("view.muted = ['tanh']")
    expect(view.part("shown-nn.relu")).to_be_checked(timeout=BRIEFLY)
    expect(view.part("shown-tanh")).not_to_be_checked(timeout=BRIEFLY)
    assert view.ink(TANH) < before / 2 < view.ink(RELU)


def test_the_legend_works_from_the_keyboard(view: OnPage) -> None:
    view.canvas().focus()
    view.press("l")
    view.part("shown-nn.relu").focus()
    view.press("Space")
    view.until(lambda: view.python("view.muted") == ["nn.relu"])
    # the list is drawn anew, and the focus is where it was
    view.press("Tab")
    expect(view.part("only-nn.relu")).to_be_focused()
    view.press("Enter")
    view.until(lambda: sorted(view.python("view.muted")) == ["add", "nn.dense", "tanh"])
    view.part("all-Operators").focus()
    view.press("Enter")
    view.until(lambda: view.python("view.muted") == [])


def test_constants_become_nodes_from_the_page_and_badges_again_from_python(view: OnPage) -> None:
    assert WEIGHT not in view.places()
    view.part("legend-toggle").click()
    view.part("show_constants").click()
    view.until(lambda: WEIGHT in view.places())
    assert view.python("view.show_constants") is True
    view.tell("view.show_constants = False")
    view.until(lambda: WEIGHT not in view.places())
    expect(view.part("show_constants")).not_to_be_checked()


def test_the_data_flows_down_or_right(view: OnPage) -> None:
    chain = (X, DENSE, RELU, TANH)
    down = [view.places()[id][1] for id in chain]
    assert down == sorted(down)
    view.part("legend-toggle").click()
    view.part("direction-right").click()
    view.until(lambda: view.python("view.direction") == "right")
    view.rest()
    right = [view.places()[id][0] for id in chain]
    assert right == sorted(right)
    assert right[0] < right[-1]
    box = view.canvas().bounding_box()
    assert box
    assert all(0 < x < box["width"] for x in right)
    view.click(DENSE)
    view.press("ArrowRight")
    view.until(lambda: view.python("view.selection") == [RELU])
    view.tell("view.direction = 'down'")
    view.until(lambda: (lambda now: now == sorted(now) and now[0] < now[-1])([view.places()[id][1] for id in chain]))


def test_collapsed_groups_have_pythons_ids_both_ways(view: OnPage) -> None:
    assert view.python("view.collapsed") == []
    view.tell(f"view.collapsed = [{FIRST}]")
    view.until(lambda: DENSE not in view.places())
    assert TANH in view.places()
    view.tell("view.collapsed = []")
    view.until(lambda: DENSE in view.places())
    view.rest()
    view.click(TANH)
    view.press("Enter")
    view.until(lambda: view.python("view.collapsed") == [SECOND])
    assert TANH not in view.places()
    view.tell("view.collapsed = None")
    view.until(lambda: view.python("view.collapsed") == [])
    assert TANH in view.places()


def test_a_view_opens_as_python_said(opened: Notebook) -> None:
    view = OnPage(opened, f"wb.GraphView(BEFORE, collapsed=[{SECOND}], muted=['nn.relu'], selection=[{DENSE}])")
    assert set(view.places()) == {X, DENSE, RELU}
    assert view.python("view.selection") == [DENSE]
    assert view.ink(RELU) < view.ink(DENSE) / 2


def test_f_right_after_the_wheel_fits_the_graph(view: OnPage) -> None:
    canvas = view.canvas()
    canvas.focus()
    canvas.hover()
    for _ in range(6):
        view.page.mouse.wheel(0, -240)
    # what the wheel did is told to Python 250 ms later, in the middle of this glide
    view.page.wait_for_timeout(150)
    view.press("f")
    view.rest()
    box = canvas.bounding_box()
    assert box
    assert all(0 < x < box["width"] and 0 < y < box["height"] for x, y, _ in view.places().values())
    view.until(lambda: view.python("view.viewport.get('scale', 9)") <= 1)


def test_the_viewport_is_read_and_set_from_python(view: OnPage) -> None:
    wide = view.places()[X][2]
    view.tell("view.viewport = {'x': 0, 'y': 0, 'scale': 0.5}")
    view.until(lambda: view.places()[X][2] < 0.7 * wide)
    view.rest()
    x = view.places()[X][0]
    box = view.canvas().bounding_box()
    assert box
    view.page.mouse.move(box["x"] + 20, box["y"] + box["height"] - 20)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + 120, box["y"] + box["height"] - 20, steps=4)
    view.page.mouse.up()
    assert view.places()[X][0] == pytest.approx(x + 100, abs=2)
    view.until(lambda: view.python("view.viewport['x']") == pytest.approx(-200, abs=4))


def test_hover_goes_both_ways(view: OnPage) -> None:
    x, y, _ = view.places()[RELU]
    view.canvas().hover(position={"x": x, "y": y})
    view.until(lambda: view.python("view.hovered") == RELU)
    plain = view.ink(TANH)
    view.tell(f"view.hovered = {TANH}")
    view.until(lambda: view.ink(TANH) > plain)


def test_the_keys_that_move_open_and_select(view: OnPage) -> None:
    view.click(DENSE)
    view.until(lambda: view.python("view.selection") == [DENSE])
    view.press("ArrowDown")
    view.until(lambda: view.python("view.selection") == [RELU])
    view.press("ArrowUp", "ArrowUp")
    view.until(lambda: view.python("view.selection") == [X])
    view.press("]")
    view.until(lambda: set(view.python("view.selection")) == {X, DENSE, RELU, TANH, ADD})
    view.click(RELU)
    view.press("e")
    view.until(lambda: set(view.python("view.selection")) == {DENSE, RELU, TANH})
    view.click(DENSE)
    view.click(TANH, modifiers=["Shift"])
    view.press("p")
    view.until(lambda: set(view.python("view.selection")) == {DENSE, RELU, TANH})
    view.click(RELU)
    view.part("select-up").click()
    view.until(lambda: set(view.python("view.selection")) == {X, WEIGHT, DENSE, RELU})
    view.canvas().focus()
    view.press("Escape")
    view.until(lambda: view.python("view.selection") == [])


def test_keys_in_the_view_are_not_the_notebooks(view: OnPage) -> None:
    """`d d` deletes a cell and an arrow goes to the next one, where the notebook hears them."""
    view.notebook.run_cell("below = 1")
    cells = view.page.locator(".jp-CodeCell").count()
    view.click(DENSE)
    view.press("d", "d", "x", "ArrowDown")
    view.until(lambda: view.python("view.selection") == [RELU])
    expect(view.canvas()).to_be_focused()
    view.part("legend-toggle").click()
    view.part("shown-tanh").focus()
    view.press("d", "d", "x", "b")
    expect(view.part("shown-tanh")).to_be_focused()
    assert view.page.locator(".jp-CodeCell").count() == cells


def test_s_zooms_to_the_selection(view: OnPage) -> None:
    view.click(ADD)
    view.press("s")
    view.rest()
    box = view.canvas().bounding_box()
    assert box
    assert view.places()[ADD][0] == pytest.approx(box["width"] / 2, abs=2)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("op:relu", "1"),
        ("attr:units", "1"),
        ("shape:1x16", "5"),
        ("dtype:float32", "6"),
        ("name:w", "1"),
        ("group:second", "2"),
        ("dtype:float32 -kind:op", "2"),
        ("nothing such", "none"),
    ],
)
def test_search_finds(view: OnPage, query: str, found: str) -> None:
    view.canvas().focus()
    view.press("/")
    expect(view.part("search")).to_be_focused()
    view.page.keyboard.type(query)
    expect(view.part("found")).to_have_text(found)


def test_enter_in_the_search_goes_to_the_next_and_opens_what_hides_it(opened: Notebook) -> None:
    view = OnPage(opened, f"wb.GraphView(BEFORE, collapsed=[{FIRST}, {SECOND}])")
    view.part("search").fill("op:relu")
    view.press("Enter")
    view.until(lambda: view.python("view.selection") == [RELU])
    assert view.python("view.collapsed") == [SECOND]
    view.press("Escape")
    expect(view.part("search")).to_have_value("")
    expect(view.canvas()).to_be_focused()


def test_the_keys_and_the_query_language_are_listed_in_the_widget(view: OnPage) -> None:
    view.canvas().focus()
    view.press("?")
    card = view.part("keys")
    for words in ("move along edges", "dtype:int8", "all paths", "one step more"):
        expect(card).to_contain_text(words)
    view.press("Escape")
    expect(card).to_have_count(0)


@pytest.mark.parametrize("make", ["wb.GraphView(BEFORE, legend=True)", "wb.CompareView(BEFORE, AFTER, legend=True)"])
def test_a_screen_reader_has_a_name_for_every_control(opened: Notebook, make: str) -> None:
    view = OnPage(opened, make)
    view.click(DENSE)
    session = view.page.context.new_cdp_session(view.page)
    root = session.send("Runtime.evaluate", {"expression": "[...document.querySelectorAll('.wb')].at(-1)"})
    tree = session.send("Accessibility.queryAXTree", {"objectId": root["result"]["objectId"]})
    controls = {"button", "checkbox", "combobox", "searchbox", "textbox", "slider", "application", "tab"}
    found = [(node["role"]["value"], node["name"]["value"]) for node in tree["nodes"] if not node["ignored"]]
    found = [(role, name.strip()) for role, name in found if role in controls]
    assert len(found) > 15
    assert {"application", "searchbox", "checkbox", "button"} <= {role for role, _ in found}
    assert [pair for pair in found if not pair[1]] == []


def test_hostile_names_are_text_everywhere(opened: Notebook) -> None:
    tests = str(Path(__file__).parents[1])
    opened.run_cell(f"import sys; sys.path.insert(0, {tests!r}); from widgets import hostile")
    view = OnPage(opened, "wb.GraphView(hostile.graph, legend=True)")
    view.part("search").fill("bold")
    view.press("Enter")
    expect(view.part("brief")).to_contain_text("<b>bold</b>")
    expect(view.part("legend")).to_contain_text("<img src=x onerror=")
    view.canvas().hover(position={"x": 200, "y": 200})
    view.page.wait_for_timeout(400)  # a tooltip's patience
    assert view.page.evaluate("window.broken ?? null") is None
    assert view.root.locator("img, b, i, script").count() == 0


@pytest.mark.parametrize("make", ["wb.GraphView(GraphBuilder('', 'relay').build())", "wb.GraphView(made())"])
def test_a_graph_of_nothing_or_nearly_nothing_has_a_view(opened: Notebook, make: str) -> None:
    view = OnPage(opened, make)
    view.part("legend-toggle").click()
    view.canvas().focus()
    view.press("f", "s", "e", "]", "ArrowDown", "Enter", "l")
    view.until(lambda: view.python("view.legend") is False)
