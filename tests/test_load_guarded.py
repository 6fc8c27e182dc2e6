"""Received text and files end a child process at most, and the error says so."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dialect_facts import Facts

import workbench as wb
from workbench.dialects import readers, registry
from workbench.errors import LoadError, ParseError, WorkbenchError, from_data, to_data
from workbench.pipeline.load import Allowance
from workbench.worker.parent import LOADS, worker


def small(dialect: str) -> wb.Workload:
    return wb.samples.load("mlp", dialect=dialect, layers=1, width=4)


def saved(workload: wb.Workload, folder: Path) -> str:
    registry.dialect(workload.dialect).frontend.dump(workload, folder)
    return (folder / "module.json").read_text()


def test_damaged_json(dialect: str, tmp_path: Path) -> None:
    text = saved(small(dialect), tmp_path)
    rng = random.Random(0)
    numbers = [place for place, letter in enumerate(text) if letter.isdigit()]
    refused = 0
    for _ in range(25):
        place = rng.choice(numbers)
        try:
            wb.load(f"{text[:place]}{rng.randrange(10)}{text[place + 1 :]}")
        except LoadError:
            refused += 1
    assert refused


@pytest.mark.one_dialect
def test_loading_twice_gives_the_same(dialect: str, tmp_path: Path) -> None:
    workload = small(dialect)
    text = saved(workload, tmp_path)
    here, guarded = readers.load(text), wb.load(text)
    assert guarded.graph == here.graph
    assert registry.dialect(dialect).frontend.same(guarded.module, here.module)
    assert (guarded.name, guarded.notes, guarded.params) == (here.name, here.notes, here.params)


def test_types_that_double(dialect: str, facts: Facts) -> None:
    assert wb.load(facts.doubled(3)).graph.nodes
    with pytest.raises(LoadError, match="too many fields"):
        wb.load(facts.doubled(16))


@pytest.mark.one_dialect
def test_time_of_a_source_is_limited(dialect: str, facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.pipeline.load.TEXT", Allowance(1.0, 10_000, 2 << 30, 1000))
    with pytest.raises(LoadError, match="TVM needs more than"):
        wb.load(facts.doubled(26))


@pytest.mark.one_dialect
def test_memory_of_a_model_is_limited(dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    path = tmp_path / "ones.onnx"
    shape = helper.make_tensor("shape", onnx.TensorProto.INT64, [1], [1 << 28])
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["y"])]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", kind, [1 << 28])], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    monkeypatch.setattr("workbench.pipeline.load.MODEL", Allowance(120.0, 100_000, 1 << 30, 20))
    with pytest.raises(LoadError, match=r"needs more|Unable to allocate|bad_alloc"):
        wb.load(path)


@pytest.mark.one_dialect
def test_child_that_ends_is_named_in_the_error(
    dialect: str, jobs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = saved(small(dialect), tmp_path)
    usual = worker(LOADS).run

    def run(job: str, *given: Any, **how: Any) -> Any:
        return usual(f"jobs_that_fail:{job}", *given, **how)

    monkeypatch.setattr(worker(LOADS), "run", run)
    with pytest.raises(LoadError, match="the child process ended with SIGSEGV"):
        wb.load(text)
    monkeypatch.undo()
    assert wb.load(text).graph.nodes


@pytest.mark.one_dialect
def test_graph_only_needs_no_child(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a child was asked")

    monkeypatch.setattr("workbench.worker.parent.Worker.run", refused)
    assert wb.load(small(dialect).graph.to_json()).graph.nodes


def test_errors_cross_processes() -> None:
    error = ParseError("a name", "line one\nline two", 9)
    other = from_data(json.loads(json.dumps(to_data(error))))
    assert type(other) is ParseError
    assert (str(other), vars(other)) == (str(error), vars(error))
    assert isinstance(from_data({"kind": "Unheard", "message": "m", "fields": {}}), WorkbenchError)


@pytest.mark.one_dialect
def test_cost_of_the_child(dialect: str, tell: Callable[[object], None]) -> None:
    text = small(dialect).text()
    assert wb.load(text).graph == readers.load(text).graph
    taken = {}
    for name, load in (("here", readers.load), ("guarded", wb.load)):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            load(text)
            times.append(time.perf_counter() - start)
        taken[name] = sorted(times)[1]
    tell(f"{dialect}: a small text loads in {taken['here'] * 1e3:.0f} ms here, {taken['guarded'] * 1e3:.0f} ms guarded")
