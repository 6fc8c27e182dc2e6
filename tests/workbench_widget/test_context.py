"""The compiler's own pipeline, switched by a PassContext."""

from __future__ import annotations

import pytest
from workbench_widget.driving import MERGE, run_code

from workbench.widgets.workbench import drawing


def test_the_compilers_own_pipeline_is_shown_and_switched(bench, dialect, page):
    page.send("mode", value="context")
    assert bench.state["error"] is None
    assert bench.state["counts"]["after_kernels"] > 0
    name = next(t["name"] for t in bench.state["context"]["toggles"] if not t["locked"] and t["enabled"])
    page.send("toggle_context", name=name, enabled=False)
    assert bench.state["context"]["disabled"] == [name]
    assert bench.state["error"] is None
    bench.toggle(name)
    assert bench.wait()
    assert bench.state["context"]["disabled"] == []


def test_the_steps_of_one_mode_are_not_those_of_the_other(bench, page):
    page.send("step", index=1)
    page.send("mode", value="context")
    assert bench.state["step"] == -1
    assert bench.titles == ["before", "after"]


def test_a_list_that_comes_late_does_not_overwrite_a_newer_one(bench, monkeypatch):
    """Counting what each pass changed takes longer than the picture; by then somebody may have clicked again."""
    made, again = drawing.pass_states, []

    def late(choice, trace, infos):
        if trace is not None and not again:
            again.append(True)
            bench.toggle(MERGE)
        return made(choice, trace, infos)

    monkeypatch.setattr(drawing, "pass_states", late)
    seen = []
    bench.observe(lambda change: seen.append(change["new"]["passes"][0]["enabled"]), "state")
    bench.toggle(MERGE)
    assert bench.wait()
    assert bench.state["passes"][0]["enabled"]
    # off when it was switched off, on from the second click on, and never off again
    assert seen == sorted(seen)


def test_a_locked_pass_is_refused_with_its_reason(bench, page):
    page.send("mode", value="context")
    locked = next(t for t in bench.state["context"]["toggles"] if t["locked"])
    page.send("toggle_context", name=locked["name"], enabled=False)
    assert locked["reason"] in bench.state["error"]["text"]
    assert bench.state["context"]["disabled"] == []


def test_other_opt_levels_are_other_choices(bench, page):
    page.send("mode", value="context")
    page.send("opt_level", value=0)
    assert bench.state["context"]["opt_level"] == 0
    page.send("undo")
    assert bench.state["context"]["opt_level"] == 3


@pytest.fixture
def depth(dialect):
    return f"{dialect}.FuseOps.max_depth"


def test_a_config_key_reaches_the_compiler_and_the_measured_configuration(bench, depth, page):
    page.send("mode", value="context")
    fused = bench.kernels
    page.send("setting", name=depth, text="1")
    assert bench.state["context"]["options"] == {depth: "1"}
    assert bench.state["refused"] is None
    assert dict(bench.trace.build["options"]) == {depth: 1}
    assert bench.choice.config(()).options == {depth: 1}
    assert bench.kernels > fused
    assert depth in bench.state["code"]
    assert run_code(bench)["k"].calls == bench.kernels
    page.send("setting", name=depth, text="")
    assert bench.state["context"]["options"] == {}


@pytest.mark.parametrize("text", ["deep", "1.5", "True", "[1]"])
def test_a_wrong_config_value_is_answered_beside_its_field(bench, depth, text, page):
    page.send("mode", value="context")
    before = bench.seq
    page.send("setting", name=depth, text=text)
    assert bench.state["refused"]["field"] == depth
    assert bench.state["refused"]["text"]
    assert bench.choice.options == {}
    assert bench.seq == before


def test_what_tvm_itself_refuses_is_told_in_its_words(bench, dialect, page):
    import tvm

    page.send("mode", value="context")
    name = next(str(name) for name in tvm.transform.PassContext.list_configs() if name.endswith(".UnrollLoop"))
    page.send("setting", name=name, text="{'no_such_field': 1}")
    assert "no_such_field" in bench.state["refused"]["text"]
    page.send("setting", name="no.such.key", text="1")
    assert "no.such.key" in bench.state["refused"]["text"]
    assert bench.choice.options == {}
