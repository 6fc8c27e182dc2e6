"""FusionInspector from Python on graphs alone: what it says, what may be set, what it refuses. No TVM."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from page_driver import Page
from widgets import hostile

import workbench as wb
from workbench.analysis.fusion.boundaries import between, boundaries
from workbench.analysis.fusion.kernels import kernel_graph
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.measurement.boundaries.costs import BoundaryCost, BoundaryCosts

TENSOR = "Tensor[(1, 16), float32]"
X, WEIGHT, DENSE, ROOT, TANH, SIGMOID, PRODUCT, TOTAL, OUT = range(9)


@pytest.fixture
def graph() -> Graph:
    """A dense, a diamond behind it, a sum that does not join what follows."""
    b = GraphBuilder("one_of_each", "relay")
    x = b.node("param", "x", type=TENSOR)

    def op(name: str, inputs: list[int], pattern: int, type: str = TENSOR) -> int:
        return b.node("op", name, inputs, pattern=pattern, type=type)

    weight = b.node("param", "w", type="Tensor[(16, 16), float32]")
    root = op("sqrt", [op("nn.dense", [x, weight], 4)], 0)
    product = op("multiply", [op("tanh", [root], 0), op("sigmoid", [root], 0)], 1)
    total = op("sum", [product], 3, "Tensor[(1, 1), float32]")
    b.outputs = [op("divide", [product, total], 1)]
    return b.build()


@pytest.fixture
def view(graph: Graph) -> wb.FusionInspector:
    return wb.FusionInspector(graph)


def said(view: wb.FusionInspector, panel: str = "card") -> str:
    return json.dumps(view.panels[panel], ensure_ascii=False)


def test_kernels_to_be_are_boxes_and_ids_stay(graph: Graph, view: wb.FusionInspector) -> None:
    drawn = view.fused.drawn
    assert [(n.id, n.op) for n in drawn.nodes] == [(n.id, n.op) for n in graph.nodes]
    assert drawn.kernel_count == view.kernels == 3
    assert [group.name for group in drawn.groups] == [
        "fused_nn_dense_sqrt_tanh_sigmoid_multiply",
        "fused_sum",
        "fused_divide",
    ]


def test_what_kernels_hand_to_kernels_is_counted_once_each(graph: Graph, view: wb.FusionInspector) -> None:
    assert boundaries(view.report) == ((PRODUCT, TOTAL), (PRODUCT, OUT), (TOTAL, OUT))
    assert view.handed == 64 + 4
    most, least = view.report.handovers
    assert (most.source, most.targets, most.bytes) == (PRODUCT, (TOTAL, OUT), 64)
    assert (least.source, least.targets, least.bytes) == (TOTAL, (OUT,), 4)


def test_a_cut_between_two_kernels_hides_nothing_that_is_handed_over(graph: Graph) -> None:
    b = GraphBuilder("cut", "relay")
    first = b.node("op", "exp", [b.node("param", "x", type=TENSOR)], pattern=0, type=TENSOR)
    stop = b.node("op", "annotation.stop_fusion", [first], pattern=8, type=TENSOR)
    b.outputs = [b.node("op", "tanh", [stop], pattern=0, type=TENSOR)]
    report = wb.explain_fusion(b.build())
    assert len(report.kernels) == 2
    assert boundaries(report) == ((first, b.outputs[0]),)
    assert kernel_graph(report).nodes[stop].group is None


def test_the_card_of_two_kernels_says_why_first_and_codes_last(view: wb.FusionInspector) -> None:
    view.selection = [PRODUCT, TOTAL]
    assert view.wait(30)
    assert view.why is not None
    texts = [block.get("text", "") for block in view.panels["card"]]
    assert texts[1] == view.why.decisions[0].sentence.replace(" (CommReduce)", "")
    assert "CommReduce" not in texts[1]
    path = next(block for block in view.panels["card"] if block.get("name") == "path")
    assert [row["nodes"] for row in path["rows"]] == [[PRODUCT], [TOTAL], [OUT]]
    assert [row["sign"] for row in path["rows"]] == ["", "!", ""]
    test = next(block for block in view.panels["card"] if block.get("name") == "test")
    assert "dominator kind must be" in test["text"]
    assert "CommReduce" in test["text"]
    assert "computed twice" in said(view)


def test_the_card_of_a_kernel_says_what_it_holds_and_gives_a_test(view: wb.FusionInspector) -> None:
    view.selection = [ROOT]
    assert "5 operators" in said(view)
    snippet = next(block["text"] for block in view.panels["card"] if block.get("name") == "test-code")
    exec(snippet, {"wb": wb, "w": view.fused.graph})
    with pytest.raises(AssertionError, match="not one kernel"):
        wb.assert_fused(view.fused.graph, ["sum", "divide"])


def test_two_nodes_of_one_kernel_say_what_joined_them(view: wb.FusionInspector) -> None:
    view.selection = [TANH, PRODUCT]
    assert view.why is not None
    assert view.why.together
    assert "Why are these one kernel?" in said(view)


def test_a_region_is_shaded_to_its_post_dominator_and_steps_outward(graph: Graph) -> None:
    view = wb.FusionInspector(graph, region=ROOT)
    assert view.marks == {"wash": [ROOT, TANH, SIGMOID, PRODUCT], "entry": ROOT, "exit": PRODUCT}
    assert "single entry, single exit" in said(view)
    view.selection = [PRODUCT]
    Page(view).click_action("region")
    assert (view.region, view.marks["exit"]) == (PRODUCT, OUT)
    Page(view).click_action("unregion")
    assert (view.region, view.marks) == (-1, {})
    with pytest.raises(WorkbenchError, match="no region begins there"):
        view.region = OUT


def test_what_enters_a_region_from_outside_is_listed(graph: Graph) -> None:
    b = GraphBuilder("masked", "relay")
    x, mask = b.node("param", "x", type=TENSOR), b.node("param", "mask", type=TENSOR)
    fork = b.node("op", "exp", [x], pattern=0)
    arms = [b.node("op", "add", [fork, mask], pattern=1), b.node("op", "sqrt", [fork], pattern=0)]
    b.outputs = [b.node("op", "add", arms, pattern=1)]
    view = wb.FusionInspector(b.build(), region=fork)
    entering = next(block for block in view.panels["card"] if block.get("name") == "entering")
    assert [row["nodes"] for row in entering["rows"]] == [[mask, arms[0]]]


def test_settings_run_the_mirror_again_at_once(view: wb.FusionInspector) -> None:
    Page(view).set("opt_level", "0")
    assert view.kernels == 7
    Page(view).set("opt_level", "2")
    Page(view).set("max_depth", "1")
    assert view.kernels == len(wb.explain_fusion(view.fused.graph, max_depth=1).kernels) > 3
    assert view.undo()
    assert view.kernels == 3
    Page(view).set("target", "opencl")
    assert view.report.settings.max_function_args == 128


@pytest.mark.parametrize(
    "what",
    [
        {"type": "set", "name": "max_depth", "value": "-1"},
        {"type": "set", "name": "max_depth", "value": "9" * 30},
        {"type": "set", "name": "nonsense", "value": "1"},
        {"type": "act", "what": "nonsense", "arg": ""},
        {"type": "act", "what": "cut", "arg": ""},
        {"type": "act", "what": "drop", "arg": "7"},
        {"type": "act", "what": "drop", "arg": "x"},
        {"type": "act", "what": "branch", "arg": "99"},
        {"type": "act", "what": "change", "arg": "cut=99999"},
        {"type": "act", "what": "before", "arg": "NoSuchPass"},
        {"type": "act", "what": "measure", "arg": ""},
        {"type": "act", "what": 3, "arg": ""},
    ],
)
def test_what_cannot_be_done_is_said_and_everything_stays(view: wb.FusionInspector, what: dict) -> None:
    view.selection = [PRODUCT, TOTAL]
    assert view.wait(30)
    before = (view.graph, view.selection, view.edits, view.settings, view.kernels)
    Page(view).send(**what)
    assert view.status["error"]["text"]
    assert "Error" not in view.status["error"]["text"]
    assert (view.graph, view.selection, view.edits, view.settings, view.kernels) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("selection", [99]),
        ("selection", [-1]),
        ("region", 99),
        ("settings", {"max_depth": -1}),
        ("settings", {"depth": 1}),
        ("settings", {"opt_level": "2"}),
        ("edits", ["CutFusion{edges=[(1, 2)]}"]),
        ("before", "SimplifyInference"),
        ("frame_filter", {"colour": "red"}),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(view: wb.FusionInspector, name: str, value: object) -> None:
    with pytest.raises(WorkbenchError, match=r"\w+ \w+"):
        setattr(view, name, value)
    assert view.kernels == 3


def test_the_player_steps_and_filters(view: wb.FusionInspector) -> None:
    view.tab = "player"
    assert len(view.decisions) == len(view.report.frames)
    Page(view).click_action("on")
    assert view.frame == 1
    assert view.marks["entry"] == view.decisions[1].node
    Page(view).set("not_fused", "true")
    assert view.frame == 0
    assert view.decisions == view.report.find(fused=False)
    Page(view).set("reason", "reduction")
    assert [d.node for d in view.decisions] == [TOTAL, TOTAL]
    assert [d.phase for d in view.decisions] == [0, 1]
    Page(view).set("op", "nn.dense")
    assert view.decisions == ()
    assert "No decision is like that" in said(view, "tab")


def test_the_last_frame_has_all_that_was_merged(view: wb.FusionInspector) -> None:
    view.tab = "player"
    view.frame = len(view.decisions) - 1
    assert view.marks["done"] == [DENSE, ROOT, TANH, SIGMOID, PRODUCT]


def test_branches_have_letters_and_chains_are_listed(view: wb.FusionInspector) -> None:
    b = GraphBuilder("casts", "relay")
    x = b.node("param", "x", type="Tensor[(4), int32]")
    casts = [b.node("op", "cast", [x], pattern=0, attrs={"dtype": "int8"}, type="Tensor[(4), int8]") for _ in range(2)]
    b.outputs = [b.node("op", "add", casts, pattern=1, type="Tensor[(4), int8]")]
    view = wb.FusionInspector(b.build(), tab="branches")
    assert view.wait(30)
    assert view.marks["signs"] == [(casts[0], "a", "orange", False), (casts[1], "a", "orange", False)]
    Page(view).click_action("branch", "0")
    assert view.selection == casts
    assert "not tried: needs TVM" in said(view, "tab")
    view.tab = "chains"
    assert view.wait(30)
    assert "No operators with constants" in said(view, "tab")


def test_where_the_pass_fails_that_is_said_first() -> None:
    b = GraphBuilder("norm", "relay")
    b.outputs = [b.node("op", "nn.layer_norm", [b.node("param", "x", type=TENSOR)], type=TENSOR)]
    view = wb.FusionInspector(b.build())
    assert "FuseOps fails" in said(view)
    assert "FuseOps fails" in said(view, "head")


def test_the_code_makes_the_same(graph: Graph) -> None:
    view = wb.FusionInspector(graph, selection=[PRODUCT, TOTAL], settings={"max_depth": 3}, tab="code")
    code = next(block["text"] for block in view.panels["tab"] if block.get("name") == "python")
    assert "selection=[6, 7]" in code
    assert "max_depth=3" in code
    assert f"== {view.kernels}" in code
    # a graph alone takes the place of the workload
    names: dict[str, Any] = {"w": graph}
    exec(code.replace("w = wb.load(module, params)", "").replace("w.graph", "w"), names)
    # both try the changes in the background
    assert view.wait(30)
    assert names["view"].wait(30)
    assert names["view"].panels["card"] == view.panels["card"]
    assert len(names["report"].kernels) == view.kernels


def test_hostile_names_come_as_text_and_are_drawn() -> None:
    made = hostile.graph()
    loose = replace(made, nodes=tuple(replace(n, group=None, pattern=0) for n in made.nodes), groups=())
    view = wb.FusionInspector(loose)
    for tab in ("edits", "branches", "chains", "player", "code"):
        view.tab = tab
        view.selection = [1]
        assert json.dumps(view.panels, ensure_ascii=False).encode()
    view.selection = [1, 2]
    assert view.wait(30)


def test_a_saved_page_has_the_card(view: wb.FusionInspector, tmp_path) -> None:
    view.selection = [PRODUCT, TOTAL]
    assert view.wait(30)
    page = view.save(tmp_path / "fusion.html").read_text()
    assert "Why are these two kernels?" in page


def test_empty_and_wrong_sources() -> None:
    assert wb.FusionInspector(Graph(name="empty", dialect="relay")).kernels == 0
    with pytest.raises(WorkbenchError):
        wb.FusionInspector(Graph(name="no dialect"))


def test_quick_clicks_are_all_done_and_of_a_slider_the_newest(view: wb.FusionInspector) -> None:
    view.tab = "player"
    assert len(view.decisions) > 4
    page = Page(view)
    for _ in range(4):
        page.press("on")
    assert view.wait(30)
    assert view.frame == 4
    for value in ("3", "2", "5"):
        page.post({"type": "set", "name": "min_branches", "value": value})
    assert view.wait(30)
    assert view.min_branches == 5


# -- the costs of boundaries


def shown_costs(view: wb.FusionInspector) -> str:
    view.tab = "costs"
    assert view.wait()
    return said(view, "tab")


def test_the_tab_of_costs_lists_the_dearest_boundaries_and_colours_them(view: wb.FusionInspector) -> None:
    text = shown_costs(view)
    (listed,) = [block["rows"] for block in view.panels["tab"] if block["t"] == "rows"]
    assert [row["nodes"] for row in listed] == [[PRODUCT, TOTAL], [PRODUCT, OUT], [TOTAL, OUT]]
    assert "cannot be one kernel" in listed[0]["small"]
    assert "Bytes and launches only" in text
    assert view.marks["edges"] == {
        "title": "Written and read",
        "unit": "bytes",
        "edges": [(PRODUCT, TOTAL, 64.0), (PRODUCT, OUT, 64.0), (TOTAL, OUT, 8.0)],
    }


def test_a_selected_boundary_has_its_cost_and_the_reason_why_it_cannot_be_tried(view: wb.FusionInspector) -> None:
    shown_costs(view)
    (button,) = [block for block in view.panels["tab"] if block["t"] == "act"]
    assert (button["label"], button["act"]) == ("Try the merge", "try")
    assert button["off"].startswith("a graph alone cannot be run")
    view.selection = [TOTAL, OUT]
    assert view.wait()
    assert "The boundary costs 8 bytes written and read, and 1 launch." in said(view, "tab")
    view.selection = [ROOT - 1, ROOT]
    assert view.wait()
    assert "A cut here costs 128 bytes" in said(view, "tab")
    with pytest.raises(WorkbenchError, match="graph alone"):
        view.try_boundary()


def test_costs_of_a_program_that_does_not_fuse_give_the_reason() -> None:
    b = GraphBuilder("unready", "relay")
    x = b.node("param", "x", type=TENSOR)
    b.outputs = [b.node("op", "nn.batch_norm", [x], type=TENSOR)]
    assert "SimplifyInference" in shown_costs(wb.FusionInspector(b.build()))


def test_a_prediction_is_shown_where_the_calibration_supports_it(
    view: wb.FusionInspector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def predicted(report: Any, *_: object, **__: object) -> BoundaryCosts:
        rows = [BoundaryCost(each, (1e-6, 2e-6), "9 of 10") for each in between(report)]
        return BoundaryCosts(tuple(rows), "llvm")

    monkeypatch.setattr("workbench.widgets.fusion.inspector.costs_of", predicted)
    text = shown_costs(view)
    assert "predicted 1 µs to 2 µs" in text
    assert "Bytes and launches only" not in text
    assert view.marks["edges"]["unit"] == "µs"
    assert {value for *_, value in view.marks["edges"]["edges"]} == {1.5}
