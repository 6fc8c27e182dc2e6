"""Passes added, removed and given options; presets."""

from __future__ import annotations

import dataclasses
import json

import pytest
from page_driver import Page
from workbench_widget.driving import MERGE, names, statuses

import workbench as wb
from workbench.errors import UnknownName, WorkbenchError

pytestmark = pytest.mark.one_dialect


def test_the_catalogue_has_every_pass_with_its_options_and_reasons(bench, dialect):
    passes = {entry["name"]: entry for entry in bench.catalog["passes"]}
    assert set(passes) == {info.name for info in wb.passes(dialect)}
    fields = {field["name"]: field for field in passes["FuseOps"]["options"]}
    assert fields["fuse_opt_level"]["kind"] == "int"
    assert fields["fuse_opt_level"]["default"] == "-1"
    assert any(entry["reason"] for entry in passes.values())
    assert any(entry["locked"] for entry in passes.values())


def test_adding_duplicating_and_removing_a_pass_can_each_be_undone(bench, page):
    before = names(bench)
    page.send("add", name="FoldConstant", index=0)
    assert names(bench) == ["FoldConstant", *before]
    page.send("duplicate", index=1)
    assert names(bench) == ["FoldConstant", MERGE, *before]
    page.send("remove", index=0)
    assert names(bench) == [MERGE, *before]
    assert bench.state["error"] is None
    for _ in range(3):
        page.send("undo")
    assert names(bench) == before


def test_a_pass_that_only_python_can_make_is_refused_with_its_reason(bench, page):
    reasoned = next(entry for entry in bench.catalog["passes"] if entry["reason"])
    before = names(bench)
    page.send("add", name=reasoned["name"], index=0)
    assert reasoned["reason"] in bench.state["error"]["text"]
    assert names(bench) == before


def test_a_pass_that_lacks_an_option_is_added_switched_off_and_says_what_it_needs(bench, dialect, monkeypatch, page):
    infos = (info for info in wb.passes(dialect) if len(info.example) == 1)
    info = next(info for info in infos if any(option.required and option.type == "str" for option in info.options))
    ((field, value),) = info.example.items()
    catalog = bench.session.catalog
    infos = {**catalog.infos, info.name: dataclasses.replace(info, example={})}
    bench.session.catalog = dataclasses.replace(catalog, infos=infos)
    page.send("add", name=info.name, index=0)
    assert statuses(bench)[0] == "off"
    needs = bench.state["refused"]
    assert (needs["form"], needs["field"]) == ("pass 0", field)
    assert "needs" in needs["text"]
    page.send("option", index=0, name=field, text=value)
    assert bench.state["refused"] is None
    assert bench.state["passes"][0]["options"][field] == value


def test_an_option_is_set_by_its_type_and_an_empty_field_is_its_default(bench, page):
    fuse = len(bench.pipeline) - 1
    page.send("option", index=fuse, name="fuse_opt_level", text="0")
    assert bench.pipeline[fuse].options == {"fuse_opt_level": 0}
    unfused = bench.kernels
    page.send("option", index=fuse, name="fuse_opt_level", text=" ")
    assert bench.pipeline[fuse].options == {}
    assert bench.kernels < unfused


@pytest.mark.parametrize("text", ["many", "2.5", "True", "[", "__import__('os')", "9" * 30])
def test_a_wrong_value_is_answered_beside_its_field_and_the_picture_stays(bench, text, page):
    fuse, before, seq = len(bench.pipeline) - 1, str(bench.pipeline), bench.seq
    page.send("option", index=fuse, name="fuse_opt_level", text=text)
    refused = bench.state["refused"]
    assert (refused["form"], refused["field"]) == (f"pass {fuse}", "fuse_opt_level")
    assert refused["text"]
    assert (str(bench.pipeline), bench.seq) == (before, seq)
    assert bench.state["error"] is None
    page.send("toggle", index=0, enabled=False)
    assert bench.state["refused"] is None


def test_a_preset_of_ones_own_outlives_the_workbench_and_can_be_deleted(bench, cast, config_home, page):
    bench.toggle(MERGE)
    page.click_action("preset-save", "no merging")
    own = {"name": "no merging", "doc": "yours", "own": True, "active": True, "opt_level": 3}
    assert bench.state["presets"][-1] == own
    wanted = bench.choice
    other = wb.Workbench(cast, "FoldConstant", auto_measure=False)
    Page(other).send("preset", name="no merging")
    assert other.choice == wanted
    Page(other).click_action("preset-delete", "no merging")
    assert "no merging" not in other.presets
    with pytest.raises(UnknownName, match="preset"):
        other.use_preset("no merging")
    other.close()
    assert [path.name for path in config_home.iterdir()] == ["presets.json"]


def refusal(bench):
    """The refusal in the form of presets; empty without one."""
    return "".join(block["text"] for block in bench.preset_form if block.get("look") == "bad")


def active(bench):
    return [preset["name"] for preset in bench.state["presets"] if preset["active"]]


def test_active_preset_is_marked(bench, page):
    assert active(bench) == []
    first = bench.presets[0]
    page.send("preset", name=first)
    assert active(bench) == [first]
    page.send("toggle", index=0, enabled=False)
    assert active(bench) == []
    page.send("toggle", index=0, enabled=True)
    assert active(bench) == [first]
    page.send("mode", value="context")
    assert active(bench) == ["compiler, opt level 3"]


def test_a_row_has_its_passes_in_full_beside_a_short_name(bench, page):
    page.send("preset", name=bench.presets[0])
    page.click_action("measure-run")
    page.click_action("measure-row", "0")
    _, row, details = next(block for block in bench.measure_tab if block["t"] == "table")["rows"]
    assert row[0] == f"\u25cf {bench.presets[0]} passes"
    assert details[0].startswith(f"{bench.pipeline}, opt level 3 \u00b7 ")


@pytest.mark.parametrize("name", ["", "   ", "compiler, opt level 3"])
def test_a_preset_without_a_name_of_its_own_is_refused_beside_the_field(bench, name, config_home, page):
    page.click_action("preset-save", name)
    assert refusal(bench)
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
    json.dumps({"version": 1, "presets": [{**ENTRY, "dialect": "os"}]}),
    json.dumps({"version": 1, "presets": [{**ENTRY, "disabled": [1]}]}),
    json.dumps({"version": 1, "presets": [{**ENTRY, "options": {"a": 10**40}}]}),
]


def test_a_damaged_file_of_presets_is_told_in_words_and_never_lost(bench, config_home):
    config_home.mkdir()
    for number, text in enumerate(DAMAGED, 1):
        (config_home / "presets.json").write_text(text)
        bench.session.presets.show()
        assert "presets.json" in refusal(bench), text
        assert not any(preset["own"] for preset in bench.state["presets"])
        bench.save_preset("new")
        assert (config_home / f"presets.damaged-{number}.json").read_text() == text
        assert bench.presets[-1] == "new"
        assert refusal(bench) == ""


def test_the_compilers_own_pipeline_at_each_opt_level_is_a_preset(bench):
    for level in range(4):
        bench.use_preset(f"compiler, opt level {level}")
        assert (bench.choice.mode, bench.choice.opt_level) == ("context", level)
