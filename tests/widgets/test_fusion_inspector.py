"""FusionInspector from Python on graphs alone: what it says, what may be set, what it refuses. No TVM."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from widgets import hostile

import workbench as wb
from workbench.analysis.fusion.kernel_graph import boundaries, handed_bytes, kernel_graph
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder

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


def act(view: wb.FusionInspector, what: str, arg: str = "") -> None:
    view._handle_custom_msg({"type": "act", "what": what, "arg": arg}, [])
    assert view.wait(30)


def enter(view: wb.FusionInspector, name: str, value: str) -> None:
    view._handle_custom_msg({"type": "set", "name": name, "value": value}, [])
    assert view.wait(30)


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
    assert view.handed == handed_bytes(view.report) == 64 + 4
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
    act(view, "region")
    assert (view.region, view.marks["exit"]) == (PRODUCT, OUT)
    act(view, "unregion")
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
    enter(view, "opt_level", "0")
    assert view.kernels == 7
    enter(view, "opt_level", "2")
    enter(view, "max_depth", "1")
    assert view.kernels == len(wb.explain_fusion(view.fused.graph, max_depth=1).kernels) > 3
    assert view.undo()
    assert view.kernels == 3
    enter(view, "target", "opencl")
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
    view._handle_custom_msg(what, [])
    assert view.wait(30)
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
    act(view, "on")
    assert view.frame == 1
    assert view.marks["entry"] == view.decisions[1].node
    enter(view, "not_fused", "true")
    assert view.frame == 0
    assert view.decisions == view.report.find(fused=False)
    enter(view, "reason", "reduction")
    assert [d.node for d in view.decisions] == [TOTAL, TOTAL]
    assert [d.phase for d in view.decisions] == [0, 1]
    enter(view, "op", "nn.dense")
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
    act(view, "branch", "0")
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
    assert compile(code, "code", "exec")


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
    for _ in range(4):
        view._handle_custom_msg({"type": "act", "what": "on", "arg": ""}, [])
    assert view.wait(30)
    assert view.frame == 4
    for value in ("3", "2", "5"):
        view._handle_custom_msg({"type": "set", "name": "min_branches", "value": value}, [])
    assert view.wait(30)
    assert view.min_branches == 5
