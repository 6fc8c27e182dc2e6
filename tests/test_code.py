"""`t.code()`: the text is run by a Python that loads TVM only, and must make an equal module."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from breadth import breadth

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.dialects.registry import known_dialect

SMALL: dict[str, dict[str, int]] = {
    "attention": {"seq": 8, "heads": 2, "head": 4},
    "bert": {"layers": 1, "hidden": 16, "seq": 8, "heads": 2},
}
# The text runs in a fork of a process that has imported TVM and may not see the workbench.
REPLAYS = """
import importlib.util, json, os, sys, traceback
sys.modules["workbench"] = None
import tvm

def replay(module, params, code, call, result, sees_workbench):
    if sees_workbench:
        del sys.modules["workbench"]
    spec = importlib.util.spec_from_file_location("replayed", code)
    replayed = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(replayed)
    given = {
        "mod": tvm.ir.load_json(open(module).read()),
        "params": dict(tvm.runtime.load_param_dict(open(params, "rb").read())),
    }
    made = eval("replayed." + call, {"replayed": replayed, **given})
    open(result, "w").write(tvm.ir.save_json(made))

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        try:
            replay(**json.loads(line))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""
Replay = Callable[..., Any]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A Python that replays a text for each line that it reads."""
    folder = tmp_path_factory.mktemp("alone")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", REPLAYS], cwd=folder, text=True, **pipes) as started:
        yield started


@pytest.fixture
def replayed(python: subprocess.Popen[str], tmp_path: Path) -> Replay:
    """Return the module that a text makes in a process without the workbench."""

    def replay(w: wb.Workload, text: str, call: str = "transformed(mod, params)", sees_workbench: bool = False) -> Any:
        import tvm

        door(w.dialect).frontend.dump(w, tmp_path)
        code, params, result = (tmp_path / name for name in ("code.py", "params.bin", "result.json"))
        params.write_bytes(tvm.runtime.save_param_dict(w.params))
        code.write_text(text)
        paths = {"module": tmp_path / "module.json", "params": params, "code": code, "result": result}
        assert python.stdin
        assert python.stdout
        given = {name: str(path) for name, path in paths.items()}
        print(json.dumps({**given, "call": call, "sees_workbench": sees_workbench}), file=python.stdin, flush=True)
        assert python.stdout.readline() == "0\n", "the text failed: its traceback is in the captured stderr"
        return tvm.ir.load_json(result.read_text())

    return replay


def passes_of(dialect: str, place: int) -> wb.Pipeline:
    return wb.Pipeline.parse(door(dialect).passes.presets()[place].pipeline)


@pytest.mark.parametrize("place", breadth([0, 1], 1))
@pytest.mark.parametrize("name", breadth(["conv_bias_batch_norm", "attention", "branches"], "attention"))
def test_a_pipelines_code_makes_an_equal_module(name: str, place: int, dialect: str, replayed: Replay) -> None:
    w = wb.samples.load(name, dialect=dialect, **SMALL.get(name, {}))
    t = wb.trace(w, passes_of(dialect, place))
    assert t.failed is None
    assert door(dialect).frontend.same(replayed(w, t.code()), t.result)


def test_passes_of_ours_are_imported_and_no_others(dialect: str, replayed: Replay) -> None:
    *before, fuse = wb.Pipeline.parse(door(dialect).passes.fusing())
    made = wb.trace(wb.samples.load("mlp", dialect=dialect, layers=1, width=4), wb.Pipeline(before))
    w = wb.load(made.result)
    kernel = next(kernel for kernel in wb.explain_fusion(w).kernels if len(kernel.ops) > 1)
    edge = next((s, n) for n in kernel.nodes for s in w.graph.inputs[n] if s in kernel.nodes)
    cut = wb.cut(w, edge).edits
    t = wb.trace(w, f"{cut},{fuse}")
    assert t.failed is None
    assert len([line for line in t.code().splitlines() if line.endswith("import CutFusion")]) == 1
    assert door(dialect).frontend.same(replayed(w, t.code(), sees_workbench=True), t.result)
    assert "workbench" not in wb.trace(w, f"-{cut},{fuse}").code()


def test_the_passes_of_ours_that_code_knows_are_those_there_are(dialect: str) -> None:
    words = known_dialect(dialect).code(False)
    ours = {info.name for info in wb.passes(dialect) if info.ours}
    # the code of a trace has BindParams as a function of its own
    assert set(words.ours) == ours - {"BindParams"}


def test_options_switches_and_levels_are_kept(dialect: str, replayed: Replay) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    t = wb.trace(w, f"-FoldConstant,EliminateCommonSubexpr,{door(dialect).passes.fusing()}", 1)
    assert "# " in t.code()
    assert door(dialect).frontend.same(replayed(w, t.code()), t.result)


def mine(module: Any) -> Any:
    import tvm

    return module.with_attr("seen", tvm.runtime.convert("yes"))


def helped(module: Any) -> Any:
    return mine(module)


@pytest.mark.one_dialect
def test_a_function_of_the_persons_own_is_in_the_code(dialect: str, replayed: Replay) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    t = wb.trace(w, [mine])
    assert t.steps[0].changed
    assert "def mine(module" in t.code()
    assert door(dialect).frontend.same(replayed(w, t.code()), t.result)


@pytest.mark.one_dialect
@pytest.mark.parametrize(
    ("function", "name"), [(helped, "helped"), (lambda module: module, "lambda_")], ids=["helped", "lambda"]
)
def test_a_function_that_needs_its_notebook_must_be_given(function: Any, name: str, dialect: str) -> None:
    text = wb.trace(wb.samples.load("mlp", dialect=dialect), [function]).code()
    assert f"def transformed(mod, params=None, *, {name}):" in text
    assert f"{name} is a pass of a notebook, and must be given" in text
    ast.parse(text)


@pytest.mark.one_dialect
def test_a_failed_pass_is_a_comment_with_its_error(dialect: str) -> None:
    def broken(module: Any) -> Any:
        raise ValueError('it says """ and \\ on\ntwo lines')

    text = wb.trace(wb.samples.load("mlp", dialect=dialect), [broken]).code()
    ast.parse(text)
    assert "# broken,  # failed: ValueError" in text


def test_a_builds_code_makes_the_module_that_the_trace_ended_with(dialect: str, replayed: Replay) -> None:
    w = wb.samples.load("conv_bias_batch_norm", dialect=dialect)
    t = wb.trace_build(w, opt_level=3, whole=False, disabled=["FoldConstant"])
    result = replayed(w, t.code(), "optimized(mod, params)")
    after = door(dialect).frontend.load(result, None, w.name)
    assert after is not None
    assert wb.diff(t.end.graph, after.graph).empty
    assert t.end.graph.kernel_count == after.graph.kernel_count


def test_a_builds_code_builds(dialect: str, replayed: Replay) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    text = wb.trace_build(w).code()
    replayed(w, text, "built(mod, params) and mod")


@pytest.mark.one_dialect
def test_an_opened_trace_has_the_same_code(dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    for t in (wb.trace(w, passes_of(dialect, 0)), wb.trace_build(w)):
        assert wb.Trace.open(t.save(tmp_path / "t.wbtrace")).code() == t.code()
