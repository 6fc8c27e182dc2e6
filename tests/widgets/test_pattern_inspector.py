"""PatternInspector from Python: what is found, what is said about it, what the page may ask, what is refused. No TVM."""

from __future__ import annotations

from typing import Any

import hostile
import pytest
from IPython.core.interactiveshell import InteractiveShell
from page_driver import Page

import workbench as wb
from workbench.analysis.patterns.pattern import PatternError
from workbench.analysis.patterns.report import Match, NearMiss
from workbench.analysis.patterns.text import parse
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.widgets.blocks import Block

REGION = 'dominates(is_op("split")(None), wildcard(), is_op("transpose")(None))'
X, MASK, GROWN, SPLIT, LEFT, EXP, RIGHT, TANH, ADD, MASKED, LAST = range(11)


def masked() -> Graph:
    """A split whose halves meet again, and a mask that enters before the transpose."""
    b = GraphBuilder("masked", "relay")
    x, mask = b.node("param", "x"), b.node("param", "mask")
    # a variable may enter where it likes; what is computed from one may not
    grown = b.node("op", "expand_dims", (mask,))
    split = b.node("op", "split", (x,))
    left = b.node("get_item", ".0", (split,))
    exp = b.node("op", "exp", (left,))
    right = b.node("get_item", ".1", (split,))
    tanh = b.node("op", "tanh", (right,))
    both = b.node("op", "add", (exp, tanh))
    more = b.node("op", "multiply", (both, grown))
    b.outputs = [b.node("op", "transpose", (more,))]
    return b.build()


def block(view: wb.PatternInspector, name: str, panel: str = "card") -> Block:
    return next(each for each in view.panels[panel] if each.get("name") == name)


def signs(view: wb.PatternInspector) -> dict[int, str]:
    return {node: sign for node, sign, *_ in view.marks["signs"]}


def test_a_near_miss_marks_its_part_of_the_tree_its_node_and_the_way_that_opens_the_region() -> None:
    view = wb.PatternInspector(masked(), REGION)
    (miss,) = view.findings
    assert isinstance(miss, NearMiss)
    assert view.finding is miss
    tree = [(row["sign"], row["text"].strip()) for row in block(view, "tree")["rows"]]
    assert tree == [
        ("!", "dominates"),
        ("✓", "parent: split, any arguments"),
        ("✓", "path: any value"),
        ("✓", "child: transpose, any arguments"),
    ]
    nodes = [row["nodes"] for row in block(view, "tree")["rows"]]
    assert (nodes[0], nodes[1], nodes[3]) == ([miss.node], [SPLIT], [LAST])
    assert block(view, "sentence")["text"] == miss.sentence
    (escape,) = block(view, "escapes")["rows"]
    assert escape["nodes"] == [MASK, GROWN, MASKED]
    assert signs(view) == {MASK: "→", GROWN: "!", MASKED: "!"}
    assert (view.marks["entry"], view.marks["exit"]) == (SPLIT, LAST)
    region, enters = block(view, "region")["rows"]
    assert GROWN not in region["nodes"]
    assert enters["nodes"] == [GROWN, MASKED]


def test_matches_without_tvm_are_labelled() -> None:
    view = wb.PatternInspector(masked(), REGION)
    assert "needs the module" in block(view, "not-tried")["text"]
    with pytest.raises(PatternError, match=r"give an operator by is_op\('add'\)"):
        wb.PatternInspector(masked(), "add")


def test_a_match_says_whether_partition_takes_it() -> None:
    view = wb.PatternInspector(masked(), 'is_op("exp")(wildcard()) | is_op("tanh")(wildcard())')
    assert [each.root for each in view.findings[:2]] == [EXP, TANH]
    assert "partition, rewrite and MergeComposite take it" in block(view, "taken")["text"]
    view = wb.PatternInspector(masked(), 'is_op("exp")(is_tuple_get_item(is_op("split")(wildcard()), 0))')
    (match, *_) = view.findings
    assert isinstance(match, Match)
    assert not match.taken
    assert match.refused in block(view, "taken")["text"]
    assert match.refused in block(view, "findings", "tab")["rows"][0]["small"]


def test_an_operator_that_failed_is_marked_in_the_line_of_its_call() -> None:
    view = wb.PatternInspector(masked(), 'is_op("add")(is_op("exp")(wildcard()), is_op("log")(wildcard()))')
    (miss,) = view.findings
    assert (miss.root, block(view, "sentence")["text"]) == (ADD, "tanh is not the operator log")
    (row,) = [row for row in block(view, "tree")["rows"] if row["sign"] == "!"]
    assert row["text"].strip() == "argument 1: log"
    assert signs(view) == {TANH: "!"}


def test_what_cannot_be_read_is_said_beside_the_pattern_and_the_last_result_stays() -> None:
    view = wb.PatternInspector(masked(), REGION)
    before = view.findings
    for text in ("is_op(", "__import__('os')", 'is_op("exp").nonsense()', "x" * 30_000):
        Page(view).set("pattern", text)
        (said,) = block(view, "problem")["rows"]
        assert said["sign"] == "!"
        assert said["text"]
        assert (view.pattern, view.findings) == (REGION, before)
        assert view.panels["card"][0]["value"] == REGION
    Page(view).set("pattern", 'is_op("exp")(None)')
    assert not any(each.get("name") == "problem" for each in view.panels["card"])
    assert [each.root for each in view.findings] == [EXP]
    with pytest.raises(PatternError):
        view.pattern = "is_op("
    assert [each.root for each in view.findings] == [EXP]


def test_a_pattern_that_is_no_text_becomes_its_text_and_none_is_none() -> None:
    view = wb.PatternInspector(masked())
    assert (view.report, view.findings, view.finding, view.marks) == (None, (), None, {})
    view.pattern = parse('is_op("exp")(None)')
    assert isinstance(view.pattern, str)
    assert str(parse(view.pattern)) == str(parse('is_op("exp")(None)'))
    Page(view).set("pattern", "  \n")
    assert (view.report, view.place) == (None, -1)
    view.pattern = 'is_op("nn.conv2d")(None)'
    assert view.findings == ()
    assert "no nn.conv2d at all" in block(view, "note")["text"]


def test_the_next_one_the_one_before_and_the_one_at_a_node() -> None:
    view = wb.PatternInspector(masked(), 'is_op("exp")(wildcard()) | is_op("tanh")(wildcard())')
    Page(view).click_action("on")
    assert view.place == 1
    assert (view.selection, view.marks["at"]) == ([TANH], [TANH])
    for _ in range(9):
        Page(view).click_action("back")
    assert view.place == 0
    view.selection = [TANH]
    assert view.place == 1
    Page(view).click_action("show", "0")
    assert view.place == 0
    for arg in ("-1", "99", "x", ""):
        Page(view).click_action("show", arg)
        assert view.place in range(len(view.findings))


def test_a_pattern_for_the_selection_is_shown_copied_and_used() -> None:
    view = wb.PatternInspector(masked(), tab="suggest")
    assert view.panels["tab"][0]["off"]
    view.selection = [EXP, TANH, ADD]
    assert not view.panels["tab"][0]["off"]
    Page(view).click_action("suggest")
    assert view.suggested is not None
    assert set(view.suggested.nodes) == {EXP, TANH, ADD}
    assert block(view, "suggested", "tab")["text"] == view.suggested.script
    Page(view).click_action("use")
    assert view.pattern == view.suggested.code
    assert view.report is not None
    (match,) = view.report.matches
    assert set(match.nodes) == {EXP, TANH, ADD}


def test_what_cannot_be_done_is_a_sentence_and_nothing_changes() -> None:
    view = wb.PatternInspector(masked(), REGION)
    before = (view.pattern, view.place, view.findings)
    for what, says in (
        ("outline", "graph alone"),
        ("use", "nothing has been suggested"),
        ("fly", "fly"),
        ("suggest", ""),
    ):
        Page(view).click_action(what)
        assert says in view.status["error"]["text"]
        assert (view.pattern, view.place, view.findings) == before
    Page(view).set("height", "3")
    assert "height" in view.status["error"]["text"]
    Page(view).send("act", what=3)
    assert "it takes a str" in view.status["error"]["text"]
    for name, value in (("selection", [99]), ("place", 99), ("collapsed", [99])):
        with pytest.raises(WorkbenchError):
            setattr(view, name, value)
    outline = next(each for each in view.panels["card"] if each.get("act") == "outline")
    assert "graph alone" in outline["off"]


def test_any_name_is_text_and_a_saved_page_keeps_what_is_said(tmp_path: Any) -> None:
    graph = hostile.graph()
    view = wb.PatternInspector(graph, "wildcard()(wildcard())", tab="found")
    assert view.findings
    page = view.save(tmp_path / "page.html").read_text(errors="replace")
    assert "<script>window.broken" not in page
    assert "<img src=x" not in page


def test_notebook_shows_a_pattern_error_as_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell.instance()
    shell.user_ns["show"] = lambda: wb.PatternInspector(masked(), "add")
    shell.run_cell("show()")
    InteractiveShell.clear_instance()
    shown = capsys.readouterr().out
    assert "is_op('add')" in shown
    assert "Traceback" not in shown
