"""What every dialect owes the rest of the workbench. No test here knows which dialect it runs on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import diff_laws
import pytest
from dialect_facts import Facts

import workbench as wb
from workbench.dialects import registry
from workbench.dialects.base import Workload
from workbench.errors import LoadError, TooDeep, UnknownName, WorkbenchError
from workbench.graph.model import Graph
from workbench.graph.nodes import GROUP_KINDS, KINDS
from workbench.pipeline.run import SAFE_DEPTH

SMALL: dict[str, dict[str, int]] = {
    "attention": {"seq": 8, "heads": 2, "head": 4},
    "bert": {"layers": 2, "hidden": 16, "seq": 8, "heads": 2},
    "resnet18": {"image": 16, "width": 4},
}
# read from the folder, since a lane without TVM collects this file too
SAMPLES = ["attention", "bert", "branches", "chain", "conv_bias_batch_norm", "mlp", "parallel_cast", "resnet18"]
WITHOUT_CONSTANTS = ("branches", "chain", "mlp")
FUSE = "FuseOps{fuse_opt_level=2}"
BAD_TEXT = (
    "hello",
    "hello(\n",
    "def f(:\n",
    "{",
    "{}",
    '{"root": 1}',
    "x = " + "(" * 3000,
    "a\x00b\n",
    "fn (%x: Tensor[(1, 2), float32]) {\n  %y + 1f\n}\n",
    "@R.function\ndef f(x: R.Tensor((1, 2), 'float32')):\n    y = R.nosuch(x)\n    return y\n",
)


@lru_cache
def sample(name: str) -> Workload:
    return wb.samples.load(name, **SMALL.get(name, {}))


@pytest.fixture(params=SAMPLES)
def workload(request: pytest.FixtureRequest, dialect: str) -> Workload:
    return sample(request.param)


@lru_cache
def lowered(workload: Workload) -> wb.Trace:
    return wb.trace(workload, registry.dialect(workload.dialect).passes.fusing())


def assert_sound(graph: Graph) -> None:
    assert all(node.id == place and node.kind in KINDS for place, node in enumerate(graph.nodes))
    assert all(edge.source < edge.target for edge in graph.edges), "producers come first"
    positions: dict[int, list[int]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        positions[edge.target].append(edge.index)
        assert edge.type == graph.nodes[edge.source].type
    assert all(sorted(found) == list(range(len(found))) for found in positions.values()), "every argument has its edge"
    for group in graph.groups:
        assert group.kind in GROUP_KINDS
        assert group.parent is None or group.parent < group.id
        assert group.output is None or group.output < len(graph.nodes)
    assert graph.outputs
    assert all(0 <= output < len(graph.nodes) for output in graph.outputs)


def test_both_dialects_have_the_same_samples(dialect: str) -> None:
    assert wb.samples.names(dialect) == SAMPLES


def test_a_graph_is_sound_and_typed(workload: Workload) -> None:
    graph = workload.graph
    assert_sound(graph)
    assert graph.name == workload.name
    assert graph.dialect == workload.dialect
    assert graph.ops
    assert [node.op for node in graph.nodes if not node.type] == []
    assert len({node.op for node in graph.nodes if node.kind == "param"}) == sum(n.kind == "param" for n in graph.nodes)


def test_params_are_parameters(workload: Workload) -> None:
    assert set(workload.params) <= {node.op for node in workload.graph.nodes if node.kind == "param"}


def test_a_graph_survives_json(workload: Workload) -> None:
    graph = workload.graph
    assert Graph.from_json(graph.to_json()) == graph
    after = lowered(workload).end.graph
    assert Graph.from_json(after.to_json()) == after


def test_reading_twice_gives_equal_graphs(workload: Workload) -> None:
    assert registry.dialect(workload.dialect).frontend.graph(workload.module, workload.name) == workload.graph


def test_dump_and_restore_give_an_equal_workload(workload: Workload, tmp_path: Path) -> None:
    door = registry.dialect(workload.dialect)
    folder = tmp_path / workload.name
    folder.mkdir()
    door.frontend.dump(workload, folder)
    back = door.frontend.restore(folder)
    assert door.frontend.same(back.module, workload.module)
    assert back.graph == workload.graph
    assert back.params.keys() == workload.params.keys()
    assert all((back.params[name].numpy() == value.numpy()).all() for name, value in workload.params.items())


@pytest.mark.parametrize("name", WITHOUT_CONSTANTS)
@pytest.mark.parametrize("suffix", ["", ".txt", ".py", "own"])
def test_printed_text_reads_back(dialect: str, facts: Facts, name: str, suffix: str, tmp_path: Path) -> None:
    printed = sample(name).text()
    source: Any = printed
    if suffix:
        path = tmp_path / f"{name}{facts.suffix if suffix == 'own' else suffix}"
        path.write_text(printed, encoding="utf-8")
        source = str(path) if suffix == ".txt" else path
    back = wb.load(source)
    assert back.name == name or not suffix
    assert registry.dialect(dialect).frontend.same(back.module, sample(name).module)
    assert wb.diff(sample(name).graph, back.graph).empty


def test_a_saved_module_reads_back(workload: Workload, tmp_path: Path) -> None:
    import tvm

    path = tmp_path / "saved.json"
    path.write_text(tvm.ir.save_json(workload.module), encoding="utf-8")
    assert registry.dialect(workload.dialect).frontend.same(wb.load(path).module, workload.module)


def test_loading_takes_what_a_person_has(workload: Workload) -> None:
    assert wb.load(workload) is workload
    assert wb.load(workload.module).graph.ops == workload.graph.ops
    assert wb.load(workload.module["main"]).graph.ops == workload.graph.ops
    loaded = wb.load((workload.module, {name: value.numpy() for name, value in workload.params.items()}), name="mine")
    assert loaded.name == "mine"
    assert loaded.params.keys() == workload.params.keys()
    assert wb.load(workload.module, dict(workload.params)).params.keys() == workload.params.keys()


@pytest.mark.parametrize("text", BAD_TEXT, ids=range(len(BAD_TEXT)))
def test_bad_text_is_one_sentence(dialect: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LoadError) as caught:
        wb.load(path)
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        *((thing, type(thing).__name__) for thing in (3, None, object(), [1, 2], b"bytes", {})),
        *(("nowhere.txt", "No such file"), (Path("nowhere.onnx"), "No such file|onnx"), ("a.caffemodel", "not a file")),
    ],
)
def test_bad_things_are_one_sentence(dialect: str, thing: Any, words: str) -> None:
    with pytest.raises(LoadError, match=words) as caught:
        wb.load(thing)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_says_what_options_it_lacks(dialect: str, name: str) -> None:
    with pytest.raises(LoadError, match="nothing"):
        wb.samples.load(name, nothing=1)
    with pytest.raises(UnknownName, match=name):
        wb.samples.load(f"{name}s")


def test_fusing_draws_kernels_in_place(workload: Workload) -> None:
    trace = lowered(workload)
    assert trace.failed is None
    step = trace.steps[-1]
    assert step.changed
    assert_sound(step.after)
    assert step.diff.empty, "a pass that only groups changes no node and no edge"
    kernels = [group for group in step.after.groups if group.kind == "primitive"]
    assert kernels
    assert all(group.output is not None for group in kernels)
    assert step.after.kernel_count < step.before.kernel_count


def test_patterns_are_known_when_kernels_are_made(workload: Workload) -> None:
    ops = lowered(workload).end.graph.ops
    assert [node.op for node in ops if node.pattern is None] == []


def test_a_trace_is_a_chain(workload: Workload) -> None:
    trace = lowered(workload)
    assert trace.steps[0].before is workload.graph
    for first, second in zip(trace.steps, trace.steps[1:], strict=False):
        assert first.after is second.before
    for step in trace.steps:
        assert_sound(step.after)
        assert (step.text_before != step.text_after) >= step.changed
    assert wb.trace(workload, wb.Pipeline()).result is workload.module


def test_a_graph_does_not_differ_from_itself(workload: Workload) -> None:
    graph = workload.graph
    same = wb.diff(graph, graph)
    assert same.empty
    assert same.kept == tuple((node.id, node.id) for node in graph.nodes)


def test_a_diff_accounts_for_every_node_once(workload: Workload) -> None:
    trace = lowered(workload)
    diff_laws.check(trace.start.graph, trace.end.graph, trace.diff, composed=True)


def test_an_off_pass_and_a_failing_pass_are_steps(workload: Workload) -> None:
    def broken(module: Any) -> Any:
        raise RuntimeError("on purpose")

    def nothing(module: Any) -> Any:
        return module

    pipeline = wb.Pipeline(
        [nothing, broken, f"-{FUSE}", lambda module: 3, registry.dialect(workload.dialect).passes.fusing()]
    )
    trace = wb.trace(workload, pipeline)
    assert [step.status for step in trace.steps[:4]] == ["same", "error", "off", "error"]
    assert "on purpose" in trace.steps[1].error
    assert not any(step.error for step in trace.steps[4:])


def test_passes_are_listed_with_their_options(dialect: str) -> None:
    found = {info.name: info for info in wb.passes(dialect)}
    (level,) = found["FuseOps"].options
    assert (level.name, level.type, level.default, level.required) == ("fuse_opt_level", "int", -1, False)
    assert found["EliminateCommonSubexpr"].opt_level is not None
    assert not found["EliminateCommonSubexpr"].locked
    locked = [info.locked for info in found.values() if info.locked]
    assert locked
    assert all(len(reason.split()) > 3 for reason in locked)
    for info in found.values():
        assert info.doc
        assert "\n" not in info.doc
        assert all(option.name.isidentifier() and option.type for option in info.options)
    assert list(found) == sorted(found, key=str.lower)


def test_presets_and_toggles_name_passes_that_exist(dialect: str) -> None:
    known = {info.name for info in wb.passes(dialect)}
    for preset in registry.dialect(dialect).passes.presets():
        assert {step.name for step in wb.Pipeline.parse(preset.pipeline)} <= known, preset.name
        assert preset.doc
    assert {*registry.dialect(dialect).passes.toggles()} <= known


def test_a_pass_is_skipped_below_its_own_level(dialect: str) -> None:
    level = next(info.opt_level for info in wb.passes(dialect) if info.name == "EliminateCommonSubexpr")
    assert level
    below, at = (wb.trace(sample("parallel_cast"), "EliminateCommonSubexpr", opt_level=o) for o in (level - 1, level))
    assert below.steps[0].status == "skipped"
    assert f"opt_level {level}" in below.steps[0].detail
    assert at.steps[0].changed
    assert at.diff.merged


def test_an_unknown_pass_is_named_with_the_nearest(dialect: str) -> None:
    with pytest.raises(UnknownName, match="FuseOps"):
        wb.trace(sample("mlp"), "FuzeOps")


@pytest.mark.parametrize(
    ("option", "words"), [("nosuch=1", r"nosuch.*; it takes fuse_opt_level$"), ("fuse_opt_level='two'", "FuseOps")]
)
def test_an_option_that_a_pass_does_not_have_is_an_error(dialect: str, option: str, words: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=words):
        wb.trace(sample("mlp"), f"FuseOps{{{option}}}")


DEEP = """
import workbench as wb
from workbench.errors import TooDeep
workload = wb.samples.load("chain", length=20_000)
graph = workload.graph
assert len(graph.ops) == 20_000
assert wb.Graph.from_json(graph.to_json()) == graph
try:
    wb.trace(workload, "FuseOps")
except TooDeep:
    print("alive")
"""


@pytest.mark.one_dialect
def test_a_chain_of_20_000_does_not_end_the_process(dialect: str) -> None:
    run = subprocess.run([sys.executable, "-c", DEEP], capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "alive"), run.stderr[-2000:]


def test_a_trace_refuses_what_is_too_deep(dialect: str) -> None:
    with pytest.raises(TooDeep, match=str(SAFE_DEPTH)):
        wb.trace(wb.samples.load("chain", length=SAFE_DEPTH + 1), FUSE)


@pytest.mark.parametrize("asked", [wb.regions, wb.parallel_branches, wb.constant_chains])
def test_analysis_takes_a_workload(dialect: str, asked: Callable[[Any], Any]) -> None:
    given = sample("branches")
    assert given.dialect == dialect
    assert asked(given) == asked(given.graph)
    with pytest.raises(WorkbenchError, match="takes a Workload or a Graph, not IRModule"):
        asked(given.module)


def test_diff_takes_workloads(dialect: str) -> None:
    given = sample("branches")
    after = lowered(given).steps[-1].state_after.graph
    assert given.dialect == dialect
    assert wb.diff(given, given).empty
    assert wb.diff(given, after) == wb.diff(given.graph, after)
    with pytest.raises(WorkbenchError, match="diff takes a Workload or a Graph, not int"):
        wb.diff(given, 3)  # pyright: ignore[reportArgumentType]
