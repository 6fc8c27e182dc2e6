"""The Workbench's Python side, in both dialects: each thing a person or the page can do, and what is shown after it."""

from __future__ import annotations

import math
import time

import pytest

import workbench as wb
from workbench.errors import UnknownName, WorkbenchError

MERGE = "EliminateCommonSubexpr"
PIPELINE = {
    "relay": "EliminateCommonSubexpr,FoldConstant,FuseOps",
    "relax": "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps",
}


@pytest.fixture
def cast(dialect):
    return wb.samples.load("parallel_cast")


@pytest.fixture
def bench(cast, dialect):
    made = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False)
    assert made.wait()
    yield made
    made.cancel()
    made.close()


def says(bench, **message):
    """A message of the page, through the door that the page uses; waits for what it starts."""
    bench._handle_custom_msg(message, [])
    assert bench.wait()


def statuses(bench):
    return [row["status"] for row in bench.state["passes"]]


# -- pipeline mode


def test_it_opens_with_the_whole_pipeline_before_and_after(bench, cast):
    assert bench.state["error"] is None
    assert bench.state["busy"] is None
    assert bench.state["passes"][0]["merged"] >= 1
    assert bench.state["counts"]["before_nodes"] == len(cast.graph().nodes)
    assert bench.seq == 1
    assert [row["name"] for row in bench.state["passes"]] == [step.name for step in bench.pipeline]


def test_toggling_from_python_and_from_the_page_do_the_same(bench):
    merged = bench.kernels
    bench.toggle(MERGE)
    assert bench.kernels > merged
    assert bench.state["passes"][0]["status"] == "off"
    says(bench, type="toggle", index=0, enabled=True)
    assert bench.kernels == merged
    assert bench.seq == 3


def test_undo_and_redo_go_through_what_was_chosen(bench):
    first = str(bench.pipeline)
    says(bench, type="toggle", index=0, enabled=False)
    second = str(bench.pipeline)
    says(bench, type="undo")
    assert bench.state["pipeline_text"] == first
    says(bench, type="redo")
    assert bench.state["pipeline_text"] == second
    says(bench, type="redo")
    assert bench.state["pipeline_text"] == second


def test_a_step_shows_one_pass_and_minus_one_the_whole(bench):
    whole = bench.state["counts"]
    says(bench, type="step", index=0)
    assert bench.titles == [f"before {MERGE}", f"after {MERGE}"]
    assert bench.state["step"] == 0
    says(bench, type="step", index=-1)
    assert bench.state["counts"] == whole


def test_moving_a_pass_changes_the_order(bench):
    says(bench, type="move", index=0, to=1)
    assert bench.pipeline[1].name == MERGE


def test_a_preset_replaces_the_pipeline(bench):
    name = bench.state["presets"][0]["name"]
    says(bench, type="preset", name=name)
    assert len(bench.pipeline) > 2
    assert bench.state["error"] is None


def test_the_pipeline_can_be_assigned_as_text(bench):
    bench.pipeline = MERGE
    assert bench.wait()
    assert statuses(bench) == ["changed"]


def test_a_step_chosen_while_passes_run_does_not_lose_the_choice(bench):
    def slow(module):
        time.sleep(0.3)
        return module

    bench.pipeline = wb.Pipeline([slow, MERGE])
    says(bench, type="step", index=1)
    assert statuses(bench) == ["same", "changed"]
    assert bench.titles == [f"before {MERGE}", f"after {MERGE}"]


def test_the_code_it_shows_is_python(bench):
    compile(bench.state["code"], "code", "exec")
    says(bench, type="mode", value="context")
    compile(bench.state["code"], "code", "exec")


def test_a_pass_that_fails_is_shown_in_its_place_and_the_rest_stands(bench):
    def fails(module):
        raise RuntimeError("not today")

    bench.pipeline = wb.Pipeline([MERGE, fails])
    assert bench.wait()
    assert statuses(bench) == ["changed", "error"]
    assert "not today" in bench.state["error"]["text"]
    assert bench.state["counts"]["merged"] >= 1


def test_a_pipeline_that_cannot_run_keeps_the_last_picture_and_says_why(bench):
    before, counts = bench.after, bench.state["counts"]
    bench.pipeline = "NoSuchPass"
    assert bench.wait()
    assert "NoSuchPass" in bench.state["error"]["text"]
    assert bench.after == before
    assert bench.state["counts"] == counts
    with pytest.raises(WorkbenchError, match="NoSuchPass"):
        bench.trace  # noqa: B018
    says(bench, type="undo")
    assert bench.state["error"] is None


def test_another_function_of_the_same_name_is_another_choice(bench):
    def passes(first):
        return wb.Pipeline([lambda module: module]) if first else wb.Pipeline([lambda module: 1 / 0])

    bench.pipeline = passes(True)
    assert bench.wait()
    bench.pipeline = passes(False)
    assert bench.wait()
    assert statuses(bench) == ["error"]


def test_an_unknown_pass_to_toggle_offers_what_is_there(bench):
    with pytest.raises(UnknownName, match="FuseOps"):
        bench.toggle("FuseOp")


def test_of_many_toggles_the_newest_is_shown(bench):
    for _ in range(7):
        bench.toggle(MERGE)
    assert bench.wait()
    assert bench.state["passes"][0]["status"] == "off"
    assert bench.state["pipeline_text"].startswith(f"-{MERGE}")
    assert bench.state["busy"] is None


# -- context mode


def test_the_compilers_own_pipeline_is_shown_and_switched(bench, dialect):
    says(bench, type="mode", value="context")
    assert bench.state["error"] is None
    assert bench.state["counts"]["after_kernels"] > 0
    name = next(t["name"] for t in bench.state["context"]["toggles"] if not t["locked"] and t["enabled"])
    says(bench, type="toggle_context", name=name, enabled=False)
    assert bench.state["context"]["disabled"] == [name]
    assert bench.state["error"] is None
    bench.toggle(name)
    assert bench.wait()
    assert bench.state["context"]["disabled"] == []


def test_a_locked_pass_is_refused_with_its_reason(bench):
    says(bench, type="mode", value="context")
    locked = next((t for t in bench.state["context"]["toggles"] if t["locked"]), None)
    if locked is None:
        pytest.skip("no pass of this dialect's compiler is locked")
    says(bench, type="toggle_context", name=locked["name"], enabled=False)
    assert locked["reason"] in bench.state["error"]["text"]
    assert bench.state["context"]["disabled"] == []


def test_other_opt_levels_are_other_choices(bench):
    says(bench, type="mode", value="context")
    says(bench, type="opt_level", value=0)
    assert bench.state["context"]["opt_level"] == 0
    says(bench, type="undo")
    assert bench.state["context"]["opt_level"] == 3


# -- what a broken or hostile page can send


MALFORMED = [
    {},
    {"type": None},
    {"type": 3},
    {"type": "nothing"},
    {"type": "message"},
    {"type": "toggle"},
    {"type": "toggle", "index": "0", "enabled": True},
    {"type": "toggle", "index": 99, "enabled": True},
    {"type": "toggle", "index": -1, "enabled": False},
    {"type": "toggle", "index": 0, "enabled": "perhaps"},
    {"type": "toggle_context", "name": None, "enabled": True},
    {"type": "toggle_context", "name": ["FuseOps"], "enabled": True},
    {"type": "toggle_context", "name": "NoSuchPass", "enabled": True},
    {"type": "opt_level", "value": "three"},
    {"type": "opt_level", "value": 99},
    {"type": "opt_level", "value": math.nan},
    {"type": "mode", "value": {}},
    {"type": "preset", "name": "none of them"},
    {"type": "preset", "name": {}},
    {"type": "step", "index": 99},
    {"type": "step", "index": -7},
    {"type": "step", "index": "x"},
    {"type": "move", "index": 0},
    {"type": "move", "index": 99, "to": 0},
    {"type": "move", "index": 0, "to": "x"},
    {"type": "painted"},
    {"type": "select", "side": "neither", "ids": "x"},
]


@pytest.mark.filterwarnings("ignore:Exception in callback")
@pytest.mark.parametrize("message", [*MALFORMED, [], "text", None, 3], ids=str)
def test_a_malformed_message_changes_nothing_and_raises_nothing(bench, message, caplog):
    before, seq = str(bench.pipeline), bench.seq
    bench._on_message(bench, message, [])
    assert bench.wait()
    assert str(bench.pipeline) == before
    assert bench.choice.opt_level == 3
    assert bench.seq == seq
    error = bench.state["error"]
    assert error is None or error["title"] == "That cannot be done"
    assert -1 <= bench.state["step"] < len(bench.pipeline)
    says(bench, type="step", index=0)
    assert bench.state["step"] == 0, "it goes on working"


# -- measuring


def test_each_configuration_tried_is_a_row_once_and_the_plots_fill(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], budget=0.02)
    assert bench.wait()
    bench.toggle(MERGE)
    assert bench.wait()
    bench.toggle(MERGE)
    assert bench.wait()
    assert [row["status"] for row in bench.state["rows"]] == ["ok", "ok"], bench.state["rows"]
    assert [row["current"] for row in bench.state["rows"]] == [True, False]
    assert list(bench.rows["kernels"]) == [row["kernels"] for row in bench.state["rows"]]
    assert bench.rows["kernels"][0] < bench.rows["kernels"][1]
    assert all(bench.plots[name].lstrip().startswith("<?xml") for name in ("kernels", "runtime"))
    assert "samples" in bench.rows
    bench._handle_custom_msg({"type": "clear_rows"}, [])
    assert bench.state["rows"] == []
    bench.close()


def test_measuring_again_keeps_one_row(bench):
    says(bench, type="measure")
    says(bench, type="measure")
    assert [row["status"] for row in bench.state["rows"]] == ["ok"]


def test_a_measurement_asked_for_at_once_after_a_toggle_measures_what_is_chosen(bench):
    says(bench, type="measure")
    bench.toggle(MERGE)
    bench.measure()
    assert bench.wait()
    rows = {row["config"]: row for row in bench.state["rows"]}
    assert [row["status"] for row in rows.values()] == ["ok", "ok"]
    assert rows[bench.choice.config(bench._presets).label]["kernels"] == bench.kernels


def test_a_configuration_whose_turn_never_came_is_measured_when_it_is_chosen_again(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], budget=0.02)
    for _ in range(4):
        bench.toggle(MERGE)
        bench._pictures.wait(60)
    assert bench.wait()
    assert {row["status"] for row in bench.state["rows"]} <= {"ok", "cancelled"}
    bench.toggle(MERGE)
    assert bench.wait()
    bench.toggle(MERGE)
    assert bench.wait()
    assert [row["status"] for row in bench.state["rows"]] == ["ok", "ok"]
    bench.close()


def test_cancel_leaves_nothing_pending(bench):
    bench._handle_custom_msg({"type": "measure"}, [])
    bench._handle_custom_msg({"type": "cancel"}, [])
    assert bench.wait()
    assert bench.state["busy"] is None
    assert not {row["status"] for row in bench.state["rows"]} & {"pending", "running"}
    assert bench.state["error"] is None


def test_a_build_that_ends_its_process_is_a_failed_row(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False, target="llvm -mtriple=foo-bar")
    says(bench, type="measure")
    (row,) = bench.state["rows"]
    assert row["status"] == "failed"
    assert row["message"]
    bench.close()
