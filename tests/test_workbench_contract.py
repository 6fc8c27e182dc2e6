"""The Workbench's Python side, in both dialects: each thing a person or the page can do, and what is shown after it."""

from __future__ import annotations

import dataclasses
import json
import math
import time

import pytest

import workbench as wb
from workbench.errors import UnknownName, WorkbenchError
from workbench.widgets import page

MERGE = "EliminateCommonSubexpr"
PIPELINE = {
    "relay": "EliminateCommonSubexpr,FoldConstant,FuseOps",
    "relax": "EliminateCommonSubexpr,LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps",
}


@pytest.fixture(autouse=True)
def config_home(tmp_path, monkeypatch):
    """A person's own presets are kept in a folder of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "tvm-workbench"


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


# -- editing the pipeline


def names(bench):
    return [step.name for step in bench.pipeline]


def test_the_catalogue_has_every_pass_with_its_options_and_reasons(bench, dialect):
    passes = {entry["name"]: entry for entry in bench.catalog["passes"]}
    assert set(passes) == {info.name for info in wb.passes(dialect)}
    fields = {field["name"]: field for field in passes["FuseOps"]["options"]}
    assert fields["fuse_opt_level"]["kind"] == "int"
    assert fields["fuse_opt_level"]["default"] == "-1"
    assert any(entry["reason"] for entry in passes.values())
    assert any(entry["locked"] for entry in passes.values())


def test_adding_duplicating_and_removing_a_pass_can_each_be_undone(bench):
    before = names(bench)
    says(bench, type="add", name="FoldConstant", index=0)
    assert names(bench) == ["FoldConstant", *before]
    says(bench, type="duplicate", index=1)
    assert names(bench) == ["FoldConstant", MERGE, *before]
    says(bench, type="remove", index=0)
    assert names(bench) == [MERGE, *before]
    assert bench.state["error"] is None
    for _ in range(3):
        says(bench, type="undo")
    assert names(bench) == before


def test_a_pass_that_only_python_can_make_is_refused_with_its_reason(bench):
    reasoned = next(entry for entry in bench.catalog["passes"] if entry["reason"])
    before = names(bench)
    says(bench, type="add", name=reasoned["name"], index=0)
    assert reasoned["reason"] in bench.state["error"]["text"]
    assert names(bench) == before


def test_a_pass_that_lacks_an_option_is_added_switched_off_and_says_what_it_needs(bench, dialect, monkeypatch):
    name = {"relay": "CombineParallelOps", "relax": "Gradient"}[dialect]
    bench._infos = {**bench._infos, name: dataclasses.replace(bench._infos[name], example={})}
    says(bench, type="add", name=name, index=0)
    assert statuses(bench)[0] == "off"
    needs = bench.state["refused"]
    assert (needs["form"], needs["field"]) == ("pass 0", {"relay": "op", "relax": "func_name"}[dialect])
    assert "needs" in needs["text"]
    says(bench, type="option", index=0, name=needs["field"], text={"relay": "nn.dense", "relax": "main"}[dialect])
    assert bench.state["refused"] is None
    assert bench.state["passes"][0]["options"][needs["field"]] in ("nn.dense", "main")


def test_an_option_is_set_by_its_type_and_an_empty_field_is_its_default(bench):
    fuse = len(bench.pipeline) - 1
    says(bench, type="option", index=fuse, name="fuse_opt_level", text="0")
    assert bench.pipeline[fuse].options == {"fuse_opt_level": 0}
    unfused = bench.kernels
    says(bench, type="option", index=fuse, name="fuse_opt_level", text=" ")
    assert bench.pipeline[fuse].options == {}
    assert bench.kernels < unfused


@pytest.mark.parametrize("text", ["many", "2.5", "True", "[", "__import__('os')", "9" * 30])
def test_a_wrong_value_is_answered_beside_its_field_and_the_picture_stays(bench, text):
    fuse, before, seq = len(bench.pipeline) - 1, str(bench.pipeline), bench.seq
    says(bench, type="option", index=fuse, name="fuse_opt_level", text=text)
    refused = bench.state["refused"]
    assert (refused["form"], refused["field"]) == (f"pass {fuse}", "fuse_opt_level")
    assert refused["text"]
    assert (str(bench.pipeline), bench.seq) == (before, seq)
    assert bench.state["error"] is None
    says(bench, type="toggle", index=0, enabled=False)
    assert bench.state["refused"] is None


# -- presets


def test_a_preset_of_ones_own_outlives_the_workbench_and_can_be_deleted(bench, cast, config_home):
    bench.toggle(MERGE)
    says(bench, type="save_preset", name="no merging")
    assert bench.state["presets"][-1] == {"name": "no merging", "doc": "yours", "own": True}
    wanted = bench.choice
    other = wb.Workbench(cast, "FoldConstant", auto_measure=False)
    says(other, type="preset", name="no merging")
    assert other.choice == wanted
    says(other, type="delete_preset", name="no merging")
    assert "no merging" not in other.presets
    with pytest.raises(UnknownName, match="preset"):
        other.use_preset("no merging")
    other.close()
    assert [path.name for path in config_home.iterdir()] == ["presets.json"]


@pytest.mark.parametrize("name", ["", "   ", "compiler, opt level 3"])
def test_a_preset_without_a_name_of_its_own_is_refused_beside_the_field(bench, name, config_home):
    says(bench, type="save_preset", name=name)
    assert bench.state["refused"]["form"] == "preset"
    assert not config_home.exists()


def test_a_python_function_cannot_be_kept_in_a_preset(bench):
    bench.pipeline = wb.Pipeline([lambda module: module])
    with pytest.raises(WorkbenchError, match="Python object"):
        bench.save_preset("mine")


ENTRY = {
    "name": "x",
    "dialect": "relay",
    "mode": "pipeline",
    "pipeline": "",
    "opt_level": 3,
    "disabled": [],
    "required": [],
    "options": {},
}
DAMAGED = [
    "",
    "{",
    "[]",
    "[" * 100_000,
    '{"version": 2, "presets": []}',
    '{"version": 1, "presets": [{"name": "x"}]}',
    '{"version": 1, "presets": {"a": 1}}',
    json.dumps({"version": 1, "presets": [{**ENTRY, "pipeline": "{{"}]}),
    json.dumps({"version": 1, "presets": [{**ENTRY, "opt_level": True}]}),
    json.dumps({"version": 1, "presets": [{**ENTRY, "mode": "other"}]}),
]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_of_presets_is_told_in_words_and_never_lost(cast, dialect, config_home, text):
    config_home.mkdir()
    (config_home / "presets.json").write_text(text)
    bench = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False)
    assert "presets.json" in bench.state["presets_note"]
    assert not any(preset["own"] for preset in bench.state["presets"])
    bench.save_preset("new")
    assert (config_home / "presets.damaged-1.json").read_text() == text
    assert bench.presets[-1] == "new"
    assert bench.state["presets_note"] == ""
    bench.close()


def test_the_compilers_own_pipeline_at_each_opt_level_is_a_preset(bench):
    for level in range(4):
        bench.use_preset(f"compiler, opt level {level}")
        assert (bench.choice.mode, bench.choice.opt_level) == ("context", level)


# -- what would change the module here


def test_exploring_lists_what_every_pass_would_do_and_a_row_can_be_previewed_and_added(bench, dialect):
    bench._exploring._found[wb.Pipeline(), 3] = wb.explore(bench.workload, [MERGE, "FoldConstant"])
    says(bench, type="explore", index=-1)
    found = bench.exploration
    assert (found["total"], found["running"], found["error"]) == (2, False, "")
    row = next(row for row in found["rows"] if row["name"] == MERGE)
    assert row["status"] == "changed"
    assert row["nodes"] < 0
    says(bench, type="preview", name=MERGE)
    assert bench.state["preview"] == MERGE
    assert bench.titles[1] == f"after {MERGE} (preview)"
    says(bench, type="add", name=MERGE, index=0)
    assert bench.state["preview"] is None
    assert names(bench)[:2] == [MERGE, MERGE]


def test_a_preview_of_what_was_not_found_to_change_anything_is_refused(bench):
    says(bench, type="preview", name=MERGE)
    assert "explore first" in bench.state["error"]["text"]


def test_exploring_can_be_given_up_and_goes_on_where_it_stopped(bench):
    bench._handle_custom_msg({"type": "explore", "index": 0}, [])
    bench._handle_custom_msg({"type": "cancel"}, [])
    assert bench.wait()
    stopped = bench.exploration
    assert not stopped["running"]
    assert len(stopped["rows"]) < stopped["total"]


def test_after_a_python_function_nothing_can_be_explored_and_that_is_said(bench):
    bench.pipeline = wb.Pipeline([lambda module: module])
    says(bench, type="explore", index=0)
    assert "function" in bench.state["error"]["text"]


# -- checks


def test_checking_marks_the_steps_that_changed_something(bench):
    says(bench, type="check")
    changed = {str(i) for i, status in enumerate(statuses(bench)) if status == "changed"}
    assert set(bench.checks) == changed
    assert {check["status"] for check in bench.checks.values()} == {"same"}
    assert bench.state["busy"] is None
    bench.toggle(MERGE)
    assert bench.checks == {}
    assert bench.wait()


PROGRAM = {
    "relay": """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), float32]) {{ add({op}(%x), %x) }}""",
    "relax": """# from tvm.script import ir as I
# from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((4, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = R.{op}(x)
            gv: R.Tensor((4, 4), dtype="float32") = R.add(lv, x)
            R.output(gv)
        return gv
""",
}


def test_a_step_that_changed_the_answer_says_so_and_its_first_node_is_selected(dialect):
    other = wb.load(PROGRAM[dialect].format(op="tanh"))

    def wrong(module):
        return other.module

    bench = wb.Workbench(wb.load(PROGRAM[dialect].format(op="exp")), [wrong], auto_measure=False)
    assert bench.wait()
    says(bench, type="check")
    check = bench.checks["0"]
    assert check["status"] == "different", check
    assert "differ" in check["text"]
    says(bench, type="step", index=0)
    assert bench.selection == {"before": [check["first"][0]], "after": [check["first"][1]]}
    bench.close()


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


def test_the_steps_of_one_mode_are_not_those_of_the_other(bench):
    says(bench, type="step", index=1)
    says(bench, type="mode", value="context")
    assert bench.state["step"] == -1
    assert bench.titles == ["before", "after"]


def test_a_list_that_comes_late_does_not_overwrite_a_newer_one(bench, monkeypatch):
    """Counting what each pass changed takes longer than the picture; by then somebody may have clicked again."""
    made, again = page.pass_states, []

    def late(choice, trace, infos):
        if trace is not None and not again:
            again.append(True)
            bench.toggle(MERGE)
        return made(choice, trace, infos)

    monkeypatch.setattr(page, "pass_states", late)
    seen = []
    bench.observe(lambda change: seen.append(change["new"]["passes"][0]["enabled"]), "state")
    bench.toggle(MERGE)
    assert bench.wait()
    assert bench.state["passes"][0]["enabled"]
    # off when it was switched off, on from the second click on, and never off again
    assert seen == sorted(seen)


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


SETTING = {"relay": "relay.FuseOps.max_depth", "relax": "relax.FuseOps.max_depth"}


def test_a_config_key_reaches_the_compiler_and_the_measured_configuration(bench, dialect):
    says(bench, type="mode", value="context")
    fused = bench.kernels
    says(bench, type="setting", name=SETTING[dialect], text="1")
    assert bench.state["context"]["options"] == {SETTING[dialect]: "1"}
    assert bench.state["refused"] is None
    assert dict(bench.trace.build["options"]) == {SETTING[dialect]: 1}
    assert bench.choice.config(()).options == {SETTING[dialect]: 1}
    if dialect == "relay":
        assert bench.kernels > fused
    assert SETTING[dialect] in bench.state["code"]
    compile(bench.state["code"], "code", "exec")
    says(bench, type="setting", name=SETTING[dialect], text="")
    assert bench.state["context"]["options"] == {}


@pytest.mark.parametrize("text", ["deep", "1.5", "True", "[1]"])
def test_a_wrong_config_value_is_answered_beside_its_field(bench, dialect, text):
    says(bench, type="mode", value="context")
    before = bench.seq
    says(bench, type="setting", name=SETTING[dialect], text=text)
    assert bench.state["refused"]["field"] == SETTING[dialect]
    assert bench.state["refused"]["text"]
    assert bench.choice.options == {}
    assert bench.seq == before


def test_what_tvm_itself_refuses_is_told_in_its_words(bench, dialect):
    says(bench, type="mode", value="context")
    name = {"relay": "tir.UnrollLoop", "relax": "tirx.UnrollLoop"}[dialect]
    says(bench, type="setting", name=name, text="{'no_such_field': 1}")
    assert "no_such_field" in bench.state["refused"]["text"]
    says(bench, type="setting", name="no.such.key", text="1")
    assert "no.such.key" in bench.state["refused"]["text"]
    assert bench.choice.options == {}


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
    {"type": "add", "name": "NoSuchPass", "index": 0},
    {"type": "add", "name": "FuseOps,FuseOps", "index": 0},
    {"type": "add", "name": "FuseOps{", "index": 0},
    {"type": "add", "name": "FuseOps", "index": 99},
    {"type": "duplicate", "index": -1},
    {"type": "remove", "index": 99},
    {"type": "option", "index": 99, "name": "x", "text": "1"},
    {"type": "option", "index": 0, "name": "no such option", "text": "1"},
    {"type": "option", "index": 0, "name": "x", "text": 1},
    {"type": "setting", "name": "x", "text": None},
    {"type": "explore", "index": 99},
    {"type": "explore", "index": "here"},
    {"type": "preview", "name": "<img src=x onerror=alert(1)>"},
    {"type": "save_preset", "name": 3},
    {"type": "delete_preset", "name": "none of yours"},
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
    assert [plot["name"] for plot in bench.plots] == ["plot-kernels", "plot-runtime"]
    assert all(svg.startswith("<?xml") for plot in bench.plots for svg in plot["svg"])
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


# -- the tabs that Python fills


def block(bench, tab, name):
    """The block of that name."""
    return next(found for found in getattr(bench, f"{tab}_tab") if found.get("name") == name)


def opened(bench, tab):
    says(bench, type="tab", name=tab)
    return bench


def test_a_tab_is_made_when_somebody_looks(bench):
    assert bench.kernels_tab == []
    opened(bench, "kernels")
    rows = block(bench, "kernels", "kernels-table")["rows"]
    assert len(rows) == 1 + bench.kernels
    assert bench.waterfall_tab == []
    bench.toggle(MERGE)
    assert bench.wait()
    assert len(block(bench, "kernels", "kernels-table")["rows"]) == 1 + bench.kernels > len(rows)
    assert bench.state["busy"] is None
    with pytest.raises(UnknownName, match="waterfal"):
        bench.open_tab("waterfal")


def test_a_line_of_the_kernels_selects_its_nodes_and_selected_nodes_mark_their_line(bench):
    opened(bench, "kernels")
    says(bench, type="act", what="kernels-row", arg="1")
    assert bench.selection["after"]
    assert block(bench, "kernels", "kernels-table")["marked"] == [1]


def test_kernels_are_sorted_and_found_by_what_is_typed(bench):
    opened(bench, "kernels")
    everything = block(bench, "kernels", "kernels-table")["rows"][1:]
    says(bench, type="act", what="kernels-sort", arg="0")
    assert block(bench, "kernels", "kernels-table")["rows"][1:] == everything[::-1]
    says(bench, type="set", name="kernels-filter", value="RELU")
    found = block(bench, "kernels", "kernels-table")["rows"][1:]
    assert found
    assert len(found) < len(everything)
    assert all("relu" in " ".join(row) for row in found)


def test_bytes_lie_on_the_graph_and_go_with_another_choice(bench):
    opened(bench, "kernels")
    says(bench, type="set", name="kernels-overlay", value="bytes")
    after = bench.overlay_state["after"]
    assert len(after.get("groups", {})) + len(after["values"]) == bench.kernels
    says(bench, type="set", name="kernels-overlay", value="us")
    assert bench.overlay_state == {}
    assert "when the kernels were timed" in block(bench, "kernels", "kernels-summary")["text"]


def test_timed_kernels_have_a_time_and_a_share_in_table_plot_and_graph(bench):
    opened(bench, "kernels")
    says(bench, type="set", name="kernels-overlay", value="us")
    says(bench, type="act", what="kernels-time", arg="")
    rows = block(bench, "kernels", "kernels-table")["rows"][1:]
    assert all(row[-2].endswith("s") and row[-1].endswith("%") for row in rows)
    assert "of the kernels' time" in block(bench, "kernels", "plot-kernels-tab")["text"]
    assert bench.overlay_state["unit"] == "µs"
    for plot in ("kernel", "handovers", "overhead", "roofline"):
        says(bench, type="set", name="kernels-plot", value=plot)
        assert block(bench, "kernels", "plot-kernels-tab")["svg"]


def test_the_waterfall_is_counted_at_once_and_follows_what_is_chosen(bench, cast):
    opened(bench, "waterfall")
    rows = block(bench, "waterfall", "waterfall-table")["rows"][1:]
    assert [row[0] for row in rows] == ["input", *(step.name for step in bench.pipeline)]
    assert int(rows[-1][1]) == bench.kernels < int(rows[0][1])
    bench.toggle(MERGE)
    assert bench.wait()
    rows = block(bench, "waterfall", "waterfall-table")["rows"][1:]
    assert MERGE not in [row[0] for row in rows]
    assert int(rows[-1][1]) == bench.kernels


def test_the_ablation_counts_without_each_pass_that_changes_something(bench):
    whole = bench.kernels
    opened(bench, "ablation")
    rows = {row[0]: row for row in block(bench, "ablation", "ablation-table")["rows"][1:]}
    assert int(rows["all passes, twice"][1]) == whole
    assert int(rows[f"without {MERGE}"][1]) > whole
    says(bench, type="mode", value="context")
    compilers = {row[0] for row in block(bench, "ablation", "ablation-table")["rows"]}
    assert "all passes, twice" in compilers != set(rows)


def test_what_a_tab_cannot_do_is_said_in_it(cast, dialect):
    bench = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False, target="llvm -mtriple=foo-bar")
    assert bench.wait()
    opened(bench, "kernels")
    assert block(bench, "kernels", "kernels-trouble")["text"]
    assert bench.state["error"] is None
    bench.close()
