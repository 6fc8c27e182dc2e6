"""Traces as files, with no TVM: what is saved opens equal, and what is not a trace is refused in words."""

from __future__ import annotations

import gzip
import json
import math
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import state
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import LoadError, WorkbenchError
from workbench.graph.model import Graph, GraphBuilder
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace


def graph(op: str) -> Graph:
    build = GraphBuilder("g", "relay")
    x = build.node("param", "x", type="Tensor[(1), float32]")
    build.outputs.append(build.node("op", op, (x,), attrs={"axis": 1}))
    return build.build()


@pytest.fixture
def trace() -> Trace:
    first, second = state(graph("exp"), "before <b>"), state(graph("log"), "after")
    steps = (
        Step("A{x=1}", first, second, "changed", 0.5),
        Step("B", second, second, "error", 0.1, "it broke", "why", 1),
    )
    return Trace("t", "relay", steps, first, 2)


def test_a_trace_ends_with_the_pass_that_ends_last() -> None:
    first, second = state(graph("exp")), state(graph("log"))
    steps = (Step("Outer", first, second, "changed"), Step("Inner", first, first, "same", depth=1))
    trace = Trace("t", "relay", steps, first, 2)
    assert trace.end is second
    assert trace.diff.edits


def test_two_states_are_compared_once() -> None:
    first, second = state(graph("exp")), state(graph("log"))
    steps = [Step("A", first, second, "changed"), Step("B", second, first, "changed")] * 2
    trace = Trace("t", "relay", tuple(replace(step) for step in steps), first, 2)
    assert trace.steps[0].diff is trace.steps[2].diff is trace.transitions[2].diff


def test_what_is_saved_opens_equal(trace: Trace, tmp_path: Path) -> None:
    opened = Trace.open(trace.save(tmp_path / "t.wbtrace"))
    assert (opened.name, opened.dialect, opened.opt_level) == ("t", "relay", 2)
    for ours, theirs in zip(trace.steps, opened.steps, strict=True):
        told = [(each.name, each.status, each.seconds, each.error, each.detail, each.depth) for each in (ours, theirs)]
        drawn = [(each.before, each.after, each.text_before, each.text_after) for each in (ours, theirs)]
        assert told[0] == told[1]
        assert drawn[0] == drawn[1]


def test_a_state_is_stored_once_and_shared_when_opened(trace: Trace, tmp_path: Path) -> None:
    path = trace.save(tmp_path / "t.wbtrace")
    assert len(json.loads(gzip.decompress(path.read_bytes()))["states"]) == 2
    opened = Trace.open(path)
    assert opened.steps[0].state_after is opened.steps[1].state_before


def test_there_is_no_module_in_it(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no modules"):
        Trace.open(trace.save(tmp_path / "t.wbtrace")).result  # noqa: B018  reading it is what fails


def test_a_trace_that_cannot_be_written_leaves_the_old_one(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be written"):
        trace.save(tmp_path / "no such folder" / "t.wbtrace")


GRAPH = json.loads(GraphBuilder("g", "relay").build().to_json())
CONSTANT = {"kind": "constant", "op": "", "attrs": {"digest": {}}}


@given(cut=st.integers(min_value=0, max_value=10_000))
def test_a_file_cut_short_is_refused(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    first = state(graph("exp"))
    path = Trace("t", "relay", (), first, 3).save(tmp_path_factory.mktemp("t") / "t.wbtrace")
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % len(whole)])
    with pytest.raises(LoadError):
        Trace.open(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 99}, "version 99"),
        ({"format": "something else"}, "not a saved trace"),
        ({"start": 17}, "damaged"),
        ({"states": [{}]}, "damaged"),
        ({"steps": [{"name": "A"}]}, "damaged"),
        ({"build": {"opt_level": "__import__('os')", "target": "llvm", "whole": True}}, "damaged"),
        ({"build": {"opt_level": 3, "target": 3, "whole": True}}, "damaged"),
        ({"build": {"nonsense": 1}}, "damaged"),
        ({"build": None}, "damaged"),
        (
            {"build": {"opt_level": 3, "target": "llvm", "whole": True, "options": {"a": math.nan}}},
            "not a finite number",
        ),
        ({"start": -1}, "damaged"),
        ({"start": 0.0}, "damaged"),
        ({"dialect": "os"}, "its dialect is none of relay, relax"),
        ({"dialect": ["relay"]}, "damaged"),
        ({"name": None}, "damaged"),
        ({"opt_level": 1e9}, "damaged"),
        ({"opt_level": 1 << 64}, "damaged"),
        ({"states": {}}, "damaged"),
        ({"steps": [["A"]]}, "damaged"),
        ({"states": [{"graph": GRAPH | {"dialect": "os"}, "text": ""}]}, "damaged"),
        ({"states": [{"graph": GRAPH | {"nodes": [CONSTANT]}, "text": ""}]}, "damaged"),
        ({"states": [{"graph": GRAPH, "text": 3}]}, "damaged"),
    ],
)
def test_another_format_version_or_shape_is_refused(trace: Trace, tmp_path: Path, change: dict, words: str) -> None:
    path = trace.save(tmp_path / "t.wbtrace")
    data = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps({**data, **change}).encode()))
    with pytest.raises(LoadError, match=words):
        Trace.open(path)


def test_text_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.wbtrace"
    path.write_text("def @main() {}")
    with pytest.raises(LoadError, match="not a saved trace"):
        Trace.open(path)


def written(trace: Trace, path: Path, change: str) -> Path:
    """The file with a piece of JSON in the place of the step's seconds."""
    text = gzip.decompress(trace.save(path).read_bytes()).decode()
    assert '"seconds":0.5' in text
    path.write_bytes(gzip.compress(text.replace('"seconds":0.5', change).encode()))
    return path


@pytest.mark.parametrize(
    "change",
    [
        '"seconds":1e400',
        '"seconds":NaN',
        '"seconds":true',
        '"seconds":0.5,"seconds":0.5',
        '"seconds":' + "9" * 5000,
        '"seconds":0.5,"deep":' + "[" * 100_000 + "]" * 100_000,
        '"seconds":0.5,"more":"\\ud800"',
        '"seconds":0.5,"depth":-1',
        '"seconds":0.5,"status":"well"',
        '"seconds":0.5,"before":-1',
        '"seconds":0.5,"many":[' + "[]," * 3_000_000 + "[]]",
    ],
)
def test_json_out_of_bounds_is_refused(trace: Trace, tmp_path: Path, change: str) -> None:
    with pytest.raises(LoadError, match="damaged") as caught:
        Trace.open(written(trace, tmp_path / "t.wbtrace", change))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_file_that_unpacks_to_much_more_than_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.wbtrace"
    path.write_bytes(gzip.compress(b" " * (80 << 20)))
    with pytest.raises(LoadError, match="unpacks to more than"):
        Trace.open(path)


def test_many_values_in_a_small_file_are_refused_before_they_take_memory(tmp_path: Path) -> None:
    path, text = tmp_path / "t.wbtrace", b"[" + b"[]," * 5_000_000 + b"[]]"
    path.write_bytes(gzip.compress(text))
    tracemalloc.start()
    with pytest.raises(LoadError, match="values"):
        Trace.open(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * len(text)


@pytest.mark.parametrize("name", ["", " ", "A,B"])
def test_step_that_names_no_pass_has_no_code(trace: Trace, name: str) -> None:
    with pytest.raises(WorkbenchError, match="not one pass"):
        replace(trace, steps=(replace(trace.steps[0], name=name),)).code()


def test_error_of_control_characters_is_a_comment_in_the_code(trace: Trace) -> None:
    broken = replace(trace.steps[1], error='it broke\0\x1b[2J\r\n"""\\')
    code = replace(trace, name="t\0", steps=(broken,)).code()
    compile(code, "code", "exec")
    assert "\x1b" not in code


def test_code_of_many_steps_takes_linear_time(trace: Trace) -> None:
    def least(count: int) -> float:
        steps = tuple(replace(trace.steps[0], name=f"<f{place}>") for place in range(count))
        return min(seconds(replace(trace, steps=steps).code) for _ in range(2))

    assert least(16_000) < 10 * least(4_000), "4 times the steps; 16 times the time if it were quadratic"


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def test_a_dialect_that_is_a_module_of_python_is_not_imported(trace: Trace) -> None:
    with pytest.raises(WorkbenchError, match="no dialect named 'os'"):
        replace(trace, dialect="os").code()
