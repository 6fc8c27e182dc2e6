"""Laws of the Relax walk, on random programs."""

from __future__ import annotations

from typing import Any

import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

import workbench as wb
from workbench.dialects.relax import DIALECT, compat
from workbench.graph.model import Graph

SHAPE = (2, 3)
UNARY = (relax.op.nn.relu, relax.op.exp, relax.op.negative)
BINARY = (relax.op.add, relax.op.multiply, relax.op.maximum)
# what to make, and which of the values so far to make it of
INSTRUCTIONS = st.lists(
    st.tuples(st.sampled_from(("unary", "binary", "sum", "pair", "constant")), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=14,
)


@st.composite
def modules(draw: st.DrawFn) -> tvm.IRModule:
    inputs = [relax.Var(f"x{i}", compat.tensor_type(SHAPE, "float32")) for i in range(draw(st.integers(1, 3)))]
    values: list[Any] = [*inputs]
    block = relax.BlockBuilder()
    with block.function("main", inputs):
        with block.dataflow():
            for kind, first, second in draw(INSTRUCTIONS):
                a, b = values[first % len(values)], values[second % len(values)]
                if kind == "unary":
                    values.append(block.emit(UNARY[second % 3](a)))
                elif kind == "binary":
                    values.append(block.emit(BINARY[first % 3](a, b)))
                elif kind == "constant":
                    values.append(block.emit(relax.op.add(a, relax.const(float(second), "float32"))))
                elif kind == "sum":
                    values.append(block.emit(relax.op.add(a, block.emit(relax.op.sum(b, axis=[1], keepdims=True)))))
                else:
                    pair = block.emit(relax.Tuple([a, b]))
                    values.append(block.emit(relax.TupleGetItem(pair, first % 2)))
            output = block.emit_output(values[-1])
        block.emit_func_output(output)
    return block.get()


def reachable(graph: Graph) -> set[int]:
    """The nodes that an output depends on."""
    found, stack = set(), list(graph.outputs)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(graph.inputs[node])
    return found


@given(modules())
@settings(deadline=None)
def test_the_walk_finds_the_calls_that_tvm_finds(module: tvm.IRModule) -> None:
    calls: list[str] = []
    relax.analysis.post_order_visit(
        module["main"], lambda expr: calls.append(expr.op.name) if isinstance(expr, relax.Call) else None
    )
    assert sorted(node.op for node in wb.load(module).graph.ops) == sorted(calls)


@given(modules())
@settings(deadline=None, max_examples=15)
def test_printed_text_reads_back_to_the_same_graph(module: tvm.IRModule) -> None:
    read = wb.load(module.script(show_meta=True))
    assert DIALECT.frontend.same(read.module, module)
    assert wb.diff(wb.load(module).graph, read.graph).empty


@given(modules())
@settings(deadline=None, max_examples=20)
def test_fusing_only_groups(module: tvm.IRModule) -> None:
    trace = wb.trace(
        wb.load(module), "DeadCodeElimination,LegalizeOps,AnnotateTIROpPattern,FuseOps{fuse_opt_level=2},FuseTIR"
    )
    assert trace.failed is None
    fused = trace.steps[3]
    assert fused.diff.empty
    assert sorted(node.op for node in fused.after.ops) == sorted(node.op for node in fused.before.ops)
    # FuseTIR makes one PrimFunc of each group; it also sees through tuples, and drops what only a tuple kept alive
    assert fused.after.kernel_count >= trace.end.graph.kernel_count
    if not any(node.kind == "tuple" for node in fused.after.nodes):
        assert fused.after.kernel_count == trace.end.graph.kernel_count


@given(modules())
@settings(deadline=None)
def test_dead_code_is_what_no_output_depends_on(module: tvm.IRModule) -> None:
    trace = wb.trace(wb.load(module), "DeadCodeElimination")
    before, after = trace.start.graph, trace.end.graph
    params = {node.id for node in before.nodes if node.kind == "param"}
    assert len(after.nodes) == len(reachable(before) | params)
    assert not trace.diff.added
    assert not trace.diff.changed
