"""`wb.compare_compilers` of Relax programs: Relay has no translation of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import workbench as wb

TEXT = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z
"""


@pytest.mark.parametrize("kind", ["text", "file", "workload", "module"])
def test_relax_is_whole_and_relay_has_no_translation(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(TEXT)
    workload = wb.load(path, shapes={"n": 3})
    model = {"text": TEXT, "file": path, "workload": workload, "module": workload.module}[kind]
    (pair,) = wb.compare_compilers(model, {"n": (3,)} if kind == "file" else {"n": 3}, budget=0).pairs
    assert (pair.left.status, pair.right.status) == ("failed", "ok"), str(pair)
    assert pair.left.message.startswith("this is a Relax program, and there is no translation from Relax to Relay")
    assert pair.right.kernels is not None
    assert pair.right.kernels.rows == wb.kernels(workload, pair.right.target).rows
    assert pair.right.graph is not None
    assert [node.source for node in pair.right.graph.ops] == [("relax.matmul#2",), ("relax.nn.relu#3",)]
    assert not pair.checks


def test_a_module_that_an_older_tvm_cannot_read_is_given_as_text() -> None:
    python = Path(sys.prefix).with_name(".venv-relax-0.26") / "bin" / "python"
    if not python.exists():
        pytest.skip("needs .venv-relax-0.26, make relax-old")
    both = wb.Compiler("relax", python), wb.Compiler("relax")
    with_constants, workload = wb.samples.load("parallel_cast"), wb.samples.load("chain")
    (pair,) = wb.compare_compilers(with_constants.module, compilers=both, budget=0).pairs
    assert pair.left.status == "failed"
    assert pair.left.message.startswith("this TVM cannot read the module of the other: ")
    assert pair.left.message.endswith("; give its text")
    assert pair.right.status == "ok"
    (pair,) = wb.compare_compilers(workload.text(), compilers=both, budget=0).pairs
    assert [check.same for check in pair.checks] == [True], str(pair)
    assert pair.exact == 1
