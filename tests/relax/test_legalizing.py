"""A legalized module whose kernels were made once each is the one that LegalizeOps makes."""

from __future__ import annotations

from random import Random

import pytest
import tvm
from relax.test_fusion import Program
from small_samples import TWO_LAYERS
from tvm import relax

import workbench as wb
from workbench.dialects import compat
from workbench.dialects.relax.legalizing import Memory, called, legalize

HEADER = "@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        with R.dataflow():\n"


def program(params: str, *lines: str) -> tvm.IRModule:
    body = "".join(f"            {line}\n" for line in (*lines, "gv = e", "R.output(gv)"))
    return wb.load(HEADER.format(params=params) + body + "        return gv\n").module


def same_as_tvm(module: tvm.IRModule) -> None:
    ours, theirs = legalize(module), relax.transform.LegalizeOps()(module)
    assert sorted(ours.functions, key=str) != []
    assert {str(v.name_hint) for v in ours.functions} == {str(v.name_hint) for v in theirs.functions}
    tvm.ir.assert_structural_equal(ours, theirs, map_free_vars=True)


@pytest.mark.parametrize("name", TWO_LAYERS)
def test_samples_are_legalized_as_tvm_does(name: str) -> None:
    same_as_tvm(wb.samples.load(name, **TWO_LAYERS[name]).module)


@pytest.mark.parametrize(
    ("params", "lines"),
    [
        ('a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32")',
         ("c = R.multiply(a, a)", "d = R.multiply(a, b)", "e = R.multiply(d, c)")),
        ('a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32")',
         ("c = R.multiply(a, b)", "d = R.multiply(a, a)", "e = R.multiply(d, c)")),
        ('a: R.Tensor((4,), "float32")',
         ('b = R.add(a, R.const(1, "float32"))', 'c = R.add(b, R.const(2, "float32"))',
          'd = R.add(c, R.const(1, "float32"))', "e = R.add(d, a)")),
        ('a: R.Tensor((4, 2), "float32")',
         ("b = R.reshape(a, R.shape([2, 4]))", "c = R.reshape(a, R.shape([8, 1]))", "d = R.reshape(a, R.shape([2, 4]))",
          "e = R.concat((b, d, R.reshape(c, R.shape([2, 4]))), axis=0)")),
        ('a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")',
         ("c = R.concat((a, b, a), axis=0)", "d = R.concat((b, a, b), axis=0)", "f = R.concat((a, b, b), axis=0)",
          "e = R.concat((c, R.add(d, f)), axis=0)")),
        ('a: R.Tensor(("n", 4), "float32"), b: R.Tensor(("m", 4), "float32")',
         ("c = R.nn.relu(a)", "d = R.nn.relu(b)", "f = R.sum(c, axis=[0])", "h = R.sum(d, axis=[0])", "e = R.add(f, h)")),
        ('a: R.Tensor((4, 4), "float32")',
         ("b = R.sum(a, axis=[0])", "c = R.sum(a, axis=[1])", "d = R.sum(a, axis=[0], keepdims=True)",
          "e = R.add(R.add(b, c), d)")),
    ],
)  # fmt: skip
def test_calls_that_are_nearly_alike_are_told_apart(params: str, lines: tuple[str, ...]) -> None:
    same_as_tvm(program(params, *lines))


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_are_legalized_as_tvm_does(seed: int) -> None:
    same_as_tvm(Program(Random(seed), 20).module())


def test_a_kernel_is_made_once() -> None:
    asked = 0
    layers = program('a: R.Tensor((4,), "float32")', "b = R.nn.relu(a)", "c = R.nn.relu(b)", "e = R.nn.relu(c)")
    (name,) = called(layers["main"])
    legalization = tvm.ir.Op.get(name).get_attr("FLegalize")

    def counted(builder: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        nonlocal asked
        asked += 1
        return legalization(builder, call)

    made = relax.transform.LegalizeOps({name: Memory().remembering(name, counted)})(layers)
    assert asked == 1
    assert compat.structural_equal(made, relax.transform.LegalizeOps()(layers))
