"""PassStepper from Python: what it shows, what it sends when asked, what it refuses. No TVM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import traitlets
from page_driver import Page
from widgets.saved import saved_answers

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.widgets.payload import packed
from workbench.widgets.saved_page import to_json
from workbench.widgets.stepper import saved_trace
from workbench.widgets.stepper.trace_states import States, lines


def chain(*ops: str) -> Graph:
    b = GraphBuilder("chain", "relay")
    at = b.node("param", "x", type="t")
    for line, op in enumerate(ops, 2):
        at = b.node("op", op, (at,), type="t", line=line)
    b.outputs = [at]
    return b.build()


def state(*ops: str) -> State:
    graph, text = chain(*ops), "\n".join(["def @main(%x) {", *(f"  %{i} = {op}()" for i, op in enumerate(ops)), "}"])
    return State(None, lambda: graph, lambda: text)


def broken_state() -> State:
    def lost() -> Graph:
        raise WorkbenchError("the process that held this trace has ended")

    return State(None, lost, lambda: "")


@pytest.fixture
def trace() -> Trace:
    """A pass that changes nothing, one with two inside of it, one that fails."""
    a, b, c = state("exp", "relu"), state("exp", "relu", "relu"), state("exp", "tanh")
    steps = (
        Step("Quiet", a, a, "same", 0.001),
        Step("Outer", a, c, "changed", 0.003),
        Step("Inner", a, b, "changed", 0.001, depth=1),
        Step("Other", b, c, "changed", 0.001, depth=1),
        Step("Broken", c, c, "error", 0.002, "it broke", "all of it"),
    )
    return Trace("sample", "relay", steps, a, 3)


@pytest.fixture
def stepper(trace):
    return wb.PassStepper(trace)


def ask(stepper, *items):
    page = Page(stepper)
    page.send("want", items=[list(item) for item in items])
    return page.received


def test_states_are_numbered_in_the_order_in_which_they_arose(trace):
    states = States(trace)
    assert states.of_step == [(0, 0), (0, 2), (0, 1), (1, 2), (2, 2)]
    assert states.pair(-1) == (0, 2)


def test_it_starts_at_the_step_that_failed_or_else_at_the_first_change(trace):
    assert wb.PassStepper(trace).step == 4
    assert wb.PassStepper(Trace("t", "relay", trace.steps[:4], trace.start, 3)).step == 1
    assert wb.PassStepper(Trace("t", "relay", (), trace.start, 3)).step == -1


def test_the_page_is_told_of_every_step(stepper):
    rows = stepper.listing["steps"]
    assert [(row["name"], row["depth"], row["before"], row["after"]) for row in rows][1:3] == [
        ("Outer", 0, 0, 2),
        ("Inner", 1, 0, 1),
    ]
    assert (rows[4]["status"], rows[4]["error"], rows[4]["detail"]) == ("error", "it broke", "all of it")
    assert not stepper.listing["checkable"]


@pytest.mark.parametrize("step", [-2, 5, 99])
def test_a_step_that_there_is_not_is_refused_and_the_step_stays(stepper, step):
    with pytest.raises(WorkbenchError, match="the steps are -1"):
        stepper.step = step
    with pytest.raises(WorkbenchError, match="the steps are -1"):
        stepper.compare(0, step)
    assert (stepper.step, stepper.pinned) == (4, [])


def test_at_most_two_steps_are_pinned(stepper):
    with pytest.raises(traitlets.TraitError):
        stepper.pinned = [0, 1, 2]


def test_what_is_shown_follows_step_and_pins(stepper):
    stepper.step = 3
    assert stepper.shown == (1, 2)
    stepper.step = -1
    assert stepper.shown == (0, 2)
    stepper.compare(2, -1)
    assert stepper.shown == (1, 0)
    assert stepper.shows == "pinned"
    stepper.shows = "step"
    assert stepper.shown == (0, 2)


def test_selection_can_be_set(stepper):
    stepper.selection = {"before": [1], "after": []}
    assert stepper.selection == {"before": [1], "after": []}


def test_the_page_gets_what_it_asks_for_with_the_bytes_beside(stepper):
    (graph, buffers), (changes, _), (text, lines_of) = ask(stepper, ("state", 1), ("diff", 1, 2), ("text", 2))
    assert (graph["type"], graph["state"], graph["ops"], graph["kernels"]) == ("state", 1, 3, 3)
    assert graph["graph"]["node"]["kind"] == {"buffer": 0}
    assert buffers[0] == bytes([1, 0, 0, 0])
    assert changes["counts"]["removed"] + changes["counts"]["merged"] >= 1
    assert text["text"].splitlines()[2] == "  %1 = tanh()"
    assert memoryview(lines_of[0]).cast("I").tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    "item",
    [
        ("state", 3),
        ("state", -1),
        ("state",),
        ("diff", 0),
        ("eval", 0),
        ("message", 0),
        ("lineage", 0, 99),
        ("code", 9),
    ],
)
def test_what_there_is_not_is_answered_in_words(stepper, item):
    ((answer, _),) = ask(stepper, item)
    assert answer["type"] == "lost"
    assert answer["wish"] == list(item)
    assert answer["text"]


@pytest.mark.parametrize("items", [5, [5], ["state"], [[None]], [[["state"]]]])
def test_a_message_of_another_form_is_answered_in_words(stepper, items):
    Page(stepper).send("want", items=items)
    assert stepper.status["error"]["text"]


def test_a_state_that_is_lost_leaves_the_others(trace):
    gone = broken_state()
    broken = Trace("t", "relay", (Step("P", trace.start, gone, "changed"),), trace.start, 3)
    stepper = wb.PassStepper(broken)
    sent = [message for message, _ in ask(stepper, ("state", 1), ("state", 0))]
    assert [message["type"] for message in sent] == ["lost", "state"]
    assert "has ended" in sent[0]["text"]


def test_a_nodes_history_is_what_lineage_says(stepper):
    ((answer, _),) = ask(stepper, ("lineage", 2, 1))
    found = stepper.trace.lineage(4, 1)
    assert [place["ids"] for place in answer["places"]] == [list(ids) for ids in found.places]
    assert [place["state"] for place in answer["places"]] == [0, 1, 2]
    assert [place["step"] for place in answer["places"]] == [-1, 2, 3]
    assert answer["places"][1]["sure"] == "exact"


@pytest.mark.parametrize("steps", [(-1,), (2,), (-1, 3)], ids=str)
def test_the_code_shows_the_same(stepper, steps):
    ((answer, _),) = ask(stepper, ("code", *steps))
    names = {"wb": wb, "t": stepper.trace}
    exec(answer["text"], names)
    if len(steps) == 1:
        stepper.step = steps[0]
    else:
        stepper.compare(*steps)
    assert names["stepper"].shown == stepper.shown


def test_a_trace_without_modules_cannot_be_checked_and_says_so(stepper):
    with pytest.raises(WorkbenchError, match="run it again"):
        stepper.check()
    Page(stepper).send("check")
    assert "run it again" in stepper.status["error"]["text"]


def test_a_saved_page_has_every_answer_of_the_live_one(stepper, tmp_path: Path):
    answers = saved_answers(stepper.save(tmp_path / "x.html"))
    states = States(stepper.trace)
    wishes = [(kind, n) for kind in ("state", "facts", "text") for n in range(len(states))]
    wishes += [("diff", *pair) for pair in [(0, 1), (0, 2), (1, 2)]]
    wishes += [("code", -1), ("code", 3), ("code", 3, -1)]
    for wish in wishes:
        live = json.loads(to_json(states.message(wish)))
        assert answers[",".join(map(str, wish))] == live
    for state in range(len(states)):
        for node, number in enumerate(answers[f"lineages,{state}"]):
            assert answers[f"lineage,{number}"] == states.lineage(state, node)["places"]


def test_a_saved_page_keeps_a_pair_that_is_pinned_backwards(stepper, tmp_path: Path):
    stepper.compare(3, 2)
    assert "diff,2,1" in saved_answers(stepper.save(tmp_path / "x.html"))


def test_too_many_pairs_are_left_out_with_the_reason(stepper, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(saved_trace, "PAIR_NODES", 10)
    monkeypatch.setattr(saved_trace, "PLACES", 10)
    stepper.compare(-1, 3)
    answers = saved_answers(stepper.save(tmp_path / "x.html"))
    assert sorted(key for key in answers if key.startswith("diff")) == ["diff,0,1", "diff,0,2", "diff,1,2"]
    assert not [key for key in answers if key.startswith("lineage")]
    assert "too large" in saved_trace.ABSENT["lineage"]


def test_the_code_of_too_many_pairs_is_left_out(stepper, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(saved_trace, "CODE_STEPS", 3)
    answers = saved_answers(stepper.save(tmp_path / "x.html"))
    assert [key for key in answers if key.startswith("code")] == [f"code,{step}" for step in range(-1, 5)]


def test_a_lost_state_is_saved_as_its_reason(trace, tmp_path: Path):
    broken = Trace("t", "relay", (Step("P", trace.start, broken_state(), "changed"),), trace.start, 3)
    answers = saved_answers(wb.PassStepper(broken, step=-1).save(tmp_path / "x.html"))
    assert answers["state,0"]["type"] == "state"
    assert "has ended" in answers["state,1"]["text"]


def test_a_picture_is_of_the_step_that_is_shown(stepper, tmp_path: Path):
    stepper.step = 2
    svg = stepper.save(tmp_path / "x.svg").read_text()
    assert svg.count(">relu</text>") == 3
    assert "before Inner" in svg


@pytest.mark.parametrize(
    ("step", "pinned", "titles"),
    [
        (2, [], ["before Inner", "after Inner"]),
        (-1, [], ["before all passes", "after all passes"]),
        (2, [-1, 3], ["A: the start", "B: after Other"]),
    ],
)
def test_titles_of_a_picture_are_those_of_the_page(stepper, tmp_path: Path, step, pinned, titles):
    stepper.step = step
    if pinned:
        stepper.compare(*pinned)
    svg = stepper.save(tmp_path / "x.svg").read_text()
    assert all(f">{title}</text>" in svg for title in titles)
    of_page = stepper.listing["titles"]
    shown = [of_page[pinned[0] + 1][2], of_page[pinned[1] + 1][3]] if pinned else list(of_page[step + 1][:2])
    assert shown == titles


def test_a_notebook_without_a_kernel_shows_the_passes_and_fetches_no_graph(trace, stepper):
    gone = Trace("<b>t</b>", "relay", (Step("<i>P</i>", trace.start, broken_state(), "changed"),), trace.start, 3)
    shown = Page(wb.PassStepper(gone)).still()
    assert "&lt;b&gt;t&lt;/b&gt;: 1 pass, 1 changed something" in shown
    assert "<li>&lt;i&gt;P&lt;/i&gt;: 0.0 ms</li>" in shown
    assert "<li>Broken: it broke</li>" in Page(stepper).still()


def test_lines_of_a_graph_that_was_not_read_from_text_are_found_by_name():
    b = GraphBuilder("g", "relax")
    x = b.node("param", "x", name="x")
    y = b.node("op", "add", (x,), name="lv")
    b.outputs = [b.node("op", "exp", (y,), name="gv")]
    text = 'def main(x):\n    with R.dataflow():\n        lv: R.Tensor((1,), dtype="float32") = R.add(x, x)\n        gv = R.exp(lv)'
    assert list(lines(b.build(), text)) == [0, 3, 4]


def test_a_name_is_looked_up_in_the_nodes_own_function():
    b = GraphBuilder("g", "relax")
    kernel = b.group("primitive", "fused_exp", None)
    x = b.node("op", "add", (), name="lv")
    b.outputs = [b.node("op", "exp", (x,), name="lv", group=kernel)]
    text = "def fused_exp(x):\n    lv = R.exp(x)\ndef main(x):\n    lv = R.add(x, x)\n    gv = cls.fused_exp(lv)"
    assert list(lines(b.build(), text)) == [4, 2]


def test_bytes_are_put_beside_a_message_wherever_they_are():
    message, buffers = packed({"a": [b"1", {"b": b"2"}], "c": "text", "d": None})
    assert message == {"a": [{"buffer": 0}, {"b": {"buffer": 1}}], "c": "text", "d": None}
    assert buffers == [b"1", b"2"]
