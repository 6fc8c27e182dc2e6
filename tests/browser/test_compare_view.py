"""CompareView in JupyterLab: real clicks and keys, pixels read back, and the same state in Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.lab import BRIEFLY, Lab, Notebook, living_page
from browser.views import DENSE, RELU, TANH, OnPage, X, notebook
from playwright.sync_api import Browser, expect

SIGMOID, EXP = 4, 5
"tanh became sigmoid and exp"


@pytest.fixture(scope="module")
def opened(lab: Lab, browser: Browser) -> Iterator[Notebook]:
    """A notebook for all tests here; each makes a view of its own."""
    with living_page(browser, 1400, 1000) as page:
        yield notebook(lab, page)


@pytest.fixture
def view(opened: Notebook) -> OnPage:
    return OnPage(opened, "wb.CompareView(BEFORE, AFTER)")


def test_a_counter_goes_to_the_next_of_its_kind(view: OnPage) -> None:
    counts = view.python("{k: n for k, n in view.changes.counts.items() if n and k != 'kept'}")
    assert len(counts) > 1
    for kind, count in counts.items():
        chip = view.part(f"chip-{kind}")
        expect(chip).to_contain_text(f"{count} {kind}")
        seen = []
        for _ in range(count):
            chip.click()
            view.page.wait_for_timeout(150)
            seen.append(str(view.python("view.selection")))
        assert len(set(seen)) == count
        side = "before" if kind == "removed" else "after"
        chosen = view.python(f"view.selection[{side!r}]")
        column = view.python(f"list(view.diff['{side}_mark'])")
        names = ("kept", "changed", "removed", "added", "merged", "split")
        assert [names[column[id]] for id in chosen] == [kind]


def test_n_goes_through_every_change(view: OnPage) -> None:
    view.canvas().focus()
    seen = set()
    for _ in range(3):
        view.press("n")
        view.page.wait_for_timeout(150)
        seen.add(str(view.python("view.selection")))
    assert len(seen) == 3


def test_changed_only_shows_as_many_steps_around_as_are_asked_for(view: OnPage) -> None:
    assert X in view.places()
    view.canvas().focus()
    view.press("c")
    view.until(lambda: view.python("view.mode") == "changed")
    view.rest()
    one = len(view.places(1))
    view.part("hops").select_option("0")
    view.until(lambda: view.python("view.hops") == 0)
    view.until(lambda: len(view.places(1)) < one)
    assert RELU not in view.places()
    view.tell("view.hops = 7")
    view.until(lambda: RELU in view.places())
    expect(view.part("hops")).to_have_value("7")
    view.tell("view.mode = 'split'")
    expect(view.part("mode-split")).to_have_attribute("aria-pressed", "true", timeout=BRIEFLY)


def test_to_show_what_changed_only_leaves_out_it_ends(opened: Notebook) -> None:
    view = OnPage(opened, "wb.CompareView(BEFORE, AFTER, mode='changed', hops=0)")
    assert X not in view.places()
    view.tell(f"view.show([{X}], side='before')")
    view.until(lambda: X in view.places())
    view.until(lambda: view.python("view.mode") == "split")
    view.canvas().focus()
    view.press("c")
    view.until(lambda: X not in view.places())


def test_overlay_draws_both_in_one_pane(view: OnPage) -> None:
    view.part("mode-overlay").click()
    expect(view.part("canvas-overlay")).to_be_visible()
    view.until(lambda: view.python("view.mode") == "overlay")
    view.rest()
    assert TANH in view.places(0)
    assert SIGMOID in view.places(1)
    assert view.root.locator("canvas.wb-canvas").count() == 1


def test_both_panes_select_hover_and_move_together(view: OnPage) -> None:
    view.click(DENSE, side=1)
    view.until(lambda: view.python("view.selection") == {"before": [DENSE], "after": [DENSE]})
    x, y, _ = view.places()[RELU]
    view.part("canvas-after").hover(position={"x": x, "y": y})
    view.until(lambda: view.python("view.hovered") == {"before": [RELU], "after": [RELU]})
    before = view.part("canvas-before").screenshot()
    view.page.mouse.wheel(0, -200)
    view.rest()
    assert view.part("canvas-before").screenshot() != before
    view.until(lambda: view.python("view.viewport.get('scale', 0)") > 0)


def test_collapsed_groups_have_pythons_ids_of_both_sides(view: OnPage) -> None:
    assert view.python("view.collapsed") == {"before": [], "after": []}
    view.tell("view.collapsed = {'after': [1]}")
    view.until(lambda: DENSE not in view.places())
    # one box that both sides have
    view.until(lambda: view.python("view.collapsed") == {"before": [1], "after": [1]})
    view.tell("view.collapsed = {}")
    view.until(lambda: DENSE in view.places())
    view.rest()
    view.click(DENSE)
    view.press("Enter")
    view.until(lambda: view.python("view.collapsed") == {"before": [1], "after": [1]})
    # what a person closed stays closed in other graphs
    view.tell("view.compare(BEFORE, made('nn.dense', 'nn.relu', 'exp', 'add'))")
    view.rest()
    assert DENSE not in view.places()
    assert view.python("view.collapsed") == {"before": [1], "after": [1]}


def test_the_legend_mutes_what_was_kept(view: OnPage) -> None:
    before = view.ink(RELU)
    view.part("legend-toggle").click()
    view.part("shown-mark:kept").click()
    view.until(lambda: view.python("view.muted") == ["mark:kept"])
    view.rest()
    assert view.ink(RELU) < before / 2 < view.ink(TANH)


def test_where_the_data_flows_right_one_pane_is_over_the_other(view: OnPage) -> None:
    view.tell("view.direction = 'right'")
    view.until(lambda: view.places()[X][0] < view.places()[RELU][0])
    view.rest()
    before, after = (view.part(f"canvas-{side}").bounding_box() for side in ("before", "after"))
    assert before
    assert after
    assert before["x"] == after["x"]
    assert before["y"] + before["height"] < after["y"]
