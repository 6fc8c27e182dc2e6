"""`t.code()`: the text is run by a Python that loads TVM only, and must make an equal module."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.dialects.registry import known_dialect

SMALL: dict[str, dict[str, int]] = {
    "attention": {"seq": 8, "heads": 2, "head": 4},
    "bert": {"layers": 1, "hidden": 16, "seq": 8, "heads": 2},
}
# What runs the text: it may not see the workbench.
ALONE = 'sys.modules["workbench"] = None'
RUN = """
import importlib.util, json, sys
{alone}
import tvm
params = dict(tvm.runtime.load_param_dict(open({params!r}, "rb").read()))
mod = tvm.ir.load_json(open({module!r}).read())
spec = importlib.util.spec_from_file_location("replayed", {code!r})
replayed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(replayed)
result = replayed.{call}
open({result!r}, "w").write(tvm.ir.save_json(result))
"""


def replayed(
    workload: wb.Workload, text: str, folder: Path, call: str = "transformed(mod, params)", alone: str = ALONE
) -> Any:
    """The module that the text makes, in a process without the workbench."""
    import tvm

    paths = {name: str(folder / name) for name in ("module", "result")}
    paths.update(params=str(folder / "params.bin"), code=str(folder / "code.py"))
    door(workload.dialect).frontend.dump(workload, folder)
    Path(paths["module"]).write_text((folder / "module.json").read_text())
    Path(paths["params"]).write_bytes(tvm.runtime.save_param_dict(workload.params))
    Path(paths["code"]).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(call=call, alone=alone, **paths)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return tvm.ir.load_json(Path(paths["result"]).read_text())


def passes_of(dialect: str, place: int) -> wb.Pipeline:
    return wb.Pipeline.parse(door(dialect).passes.presets()[place].pipeline)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", ["conv_bias_batch_norm", "attention", "branches"])
def test_a_pipelines_code_makes_an_equal_module(name: str, place: int, dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load(name, dialect=dialect, **SMALL.get(name, {}))
    t = wb.trace(w, passes_of(dialect, place))
    assert t.failed is None
    assert door(dialect).frontend.same(replayed(w, t.code(), tmp_path), t.result)


def test_passes_of_ours_are_imported_and_no_others(dialect: str, tmp_path: Path) -> None:
    *before, fuse = wb.Pipeline.parse(door(dialect).passes.fusing())
    made = wb.trace(wb.samples.load("mlp", dialect=dialect, layers=1, width=4), wb.Pipeline(before))
    w = wb.load(made.result)
    kernel = next(kernel for kernel in wb.explain_fusion(w).kernels if len(kernel.ops) > 1)
    edge = next((s, n) for n in kernel.nodes for s in w.graph.inputs[n] if s in kernel.nodes)
    cut = wb.cut(w, edge).edits
    t = wb.trace(w, f"{cut},{fuse}")
    assert t.failed is None
    assert len([line for line in t.code().splitlines() if line.endswith("import CutFusion")]) == 1
    assert door(dialect).frontend.same(replayed(w, t.code(), tmp_path, alone=""), t.result)
    assert "workbench" not in wb.trace(w, f"-{cut},{fuse}").code()


def test_the_passes_of_ours_that_code_knows_are_those_there_are(dialect: str) -> None:
    words = known_dialect(dialect).code(False)
    ours = {info.name for info in wb.passes(dialect) if info.ours}
    # the code of a trace has BindParams as a function of its own
    assert set(words.ours) == ours - {"BindParams"}


def test_options_switches_and_levels_are_kept(dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    t = wb.trace(w, f"-FoldConstant,EliminateCommonSubexpr,{door(dialect).passes.fusing()}", 1)
    assert "# " in t.code()
    assert door(dialect).frontend.same(replayed(w, t.code(), tmp_path), t.result)


def mine(module: Any) -> Any:
    import tvm

    return module.with_attr("seen", tvm.runtime.convert("yes"))


def helped(module: Any) -> Any:
    return mine(module)


def test_a_function_of_the_persons_own_is_in_the_code(dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load("parallel_cast", dialect=dialect)
    t = wb.trace(w, [mine])
    assert t.steps[0].changed
    assert "def mine(module" in t.code()
    assert door(dialect).frontend.same(replayed(w, t.code(), tmp_path), t.result)


@pytest.mark.parametrize(
    ("function", "name"), [(helped, "helped"), (lambda module: module, "lambda_")], ids=["helped", "lambda"]
)
def test_a_function_that_needs_its_notebook_must_be_given(function: Any, name: str, dialect: str) -> None:
    text = wb.trace(wb.samples.load("mlp", dialect=dialect), [function]).code()
    assert f"def transformed(mod, params=None, *, {name}):" in text
    assert f"{name} is a pass of a notebook, and must be given" in text
    ast.parse(text)


def test_a_failed_pass_is_a_comment_with_its_error(dialect: str) -> None:
    def broken(module: Any) -> Any:
        raise ValueError('it says """ and \\ on\ntwo lines')

    text = wb.trace(wb.samples.load("mlp", dialect=dialect), [broken]).code()
    ast.parse(text)
    assert "# broken,  # failed: ValueError" in text


def test_a_builds_code_makes_the_module_that_the_trace_ended_with(dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load("conv_bias_batch_norm", dialect=dialect)
    t = wb.trace_build(w, opt_level=3, whole=False, disabled=["FoldConstant"])
    result = replayed(w, t.code(), tmp_path, "optimized(mod, params)")
    after = door(dialect).frontend.load(result, None, w.name)
    assert after is not None
    assert wb.diff(t.end.graph, after.graph).empty
    assert t.end.graph.kernel_count == after.graph.kernel_count


def test_a_builds_code_builds(dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    text = wb.trace_build(w).code()
    replayed(w, text, tmp_path, "built(mod, params) and mod")


def test_an_opened_trace_has_the_same_code(dialect: str, tmp_path: Path) -> None:
    w = wb.samples.load("mlp", dialect=dialect)
    for t in (wb.trace(w, passes_of(dialect, 0)), wb.trace_build(w)):
        assert wb.Trace.open(t.save(tmp_path / "t.wbtrace")).code() == t.code()
