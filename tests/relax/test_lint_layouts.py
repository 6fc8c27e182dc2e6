"""Layout changes that undo each other, on Relax."""

from __future__ import annotations

import tvm
from tvm import relax

import workbench as wb
from workbench.debugging.lints.rules import UNDONE


def layouts(second: object) -> wb.Workload:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((1, 4, 6, 6), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            there = builder.emit(relax.op.layout_transform(x, lambda a, b, c, d: (a, c, d, b)))
            back = builder.emit(relax.op.layout_transform(there, second))
            result = builder.emit_output(relax.op.nn.relu(back))
        builder.emit_func_output(result)
    module: tvm.IRModule = builder.get()
    return wb.load(module)


def test_layouts_that_lead_back() -> None:
    w = layouts(lambda a, b, c, d: (a, d, b, c))
    (found,) = wb.lint(w)
    assert (found.name, found.bytes) == (UNDONE, 2 * 4 * 4 * 36)
    assert wb.lint(w, config=found.pipeline)[:] == ()
    made = eval(found.fix, {"wb": wb, "w": w})
    assert "layout_transform" not in made.end.text


def test_layouts_that_do_not_lead_back() -> None:
    assert wb.lint(layouts(lambda a, b, c, d: (a, d, c, b)))[:] == ()
