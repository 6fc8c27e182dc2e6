"""`wb.compare_compilers` on graphs made here: the rows with the reasons in the words of the fusion reports, and the cause of a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from test_alignment import built, fused, programs

from workbench.analysis.alignment import ONE, KernelGraphs, align, kernel_graphs
from workbench.analysis.fusion import explain_fusion
from workbench.analysis.fusion.kernels import kernel_graph
from workbench.analysis.units import units
from workbench.debugging.compilers import runner as outputs_module
from workbench.debugging.compilers.result import CompilerComparison, CompilerPair, Difference, differences
from workbench.debugging.compilers.side import Compiler, CompilerSide, titles
from workbench.errors import MeasureError
from workbench.graph.model import Graph, GraphBuilder
from workbench.measurement.kernels import Kernels
from workbench.pipeline.config import Config

ELEMWISE, INJECTIVE, OPAQUE, COMPLEX = 0, 2, 8, 4
Op = tuple[str, str, int]
"operator, its node of the model, its pattern"


def chain(dialect: str, ops: Sequence[Op]) -> Graph:
    builder = GraphBuilder("chain", dialect)
    x = builder.node("param", "x", type="Tensor[(2, 3), float32]")
    for op, name, pattern in ops:
        source = (name,) if name else ()
        x = builder.node("op", op, [x], type="Tensor[(2, 3), float32]", pattern=pattern, source=source)
    builder.outputs = [x]
    return builder.build()


def side(dialect: str, ops: Sequence[Op], us: Sequence[float] = (), **more: Any) -> CompilerSide:
    """A side whose kernels are those that FuseOps makes of a chain; each reads and writes 24 bytes."""
    report = explain_fusion(chain(dialect, ops))
    optimized = kernel_graph(report)
    rows: list[Mapping[str, Any]] = [
        {
            "index": at,
            "nodes": list(unit.nodes),
            "function": f"{dialect}_{at}",
            "op": unit.op(optimized),
            "bytes_read": 24,
            "bytes_written": 24,
            "noop": False,
        }
        for at, unit in enumerate(units(optimized))
    ]
    kernels = Kernels(tuple(rows), "llvm", Config(), 1.0)
    timed = dict(enumerate(us))
    return CompilerSide(
        Compiler(dialect),
        "llvm",
        kernels=kernels,
        optimized=optimized,
        fusion=report,
        kernel_us=timed,
        graph=report.graph,
        **more,
    )


FUSED: Sequence[Op] = [("exp", "a", ELEMWISE), ("sqrt", "b", ELEMWISE), ("log", "c", ELEMWISE)]
SPLIT: Sequence[Op] = [("exp", "a", ELEMWISE), ("nn.softmax", "b", OPAQUE), ("log", "c", ELEMWISE)]


def test_a_split_kernel_has_the_reasons_of_both_reports():
    (row,) = differences(side("relay", FUSED), side("relax", SPLIT))
    assert (row.relation, row.left, row.right) == ("split", ("relay_0",), ("relax_0", "relax_1", "relax_2"))
    assert (row.sources, row.bytes_left, row.bytes_right) == (("a", "b", "c"), 48, 144)
    assert (row.us_left, row.us_right, row.us_lost) == (None, None, None)
    first, second = row.why.split(" Relax: ")
    assert first.startswith("Relax: exp (node 1) does not join nn.softmax (node 2)")
    assert "Relay: exp (node 1) joins sqrt (node 2)" in first
    assert second.startswith("nn.softmax (node 2) stays alone: it is opaque (Opaque)")
    assert "Relay: sqrt (node 2) joins log (node 3)" in second


def test_a_merged_kernel_has_the_same_reasons_the_other_way_round():
    (row,) = differences(side("relay", SPLIT), side("relax", FUSED))
    assert row.relation == "merged"
    assert "Relay: nn.softmax (node 2) stays alone: it is opaque (Opaque)" in row.why
    assert "Relax: sqrt (node 2) joins log (node 3)" in row.why


def test_equal_kernels_need_no_reason():
    (row,) = differences(side("relay", FUSED), side("relax", FUSED))
    assert (row.relation, row.why) == ("one to one", "")


def test_an_operator_of_a_pass_is_named_with_the_pass():
    relay = side("relay", [("exp", "a", ELEMWISE)], made_by={"exp": "AlterOpLayout"})
    (row,) = differences(relay, side("relax", [("log", "a", ELEMWISE)]))
    assert row.why == "AlterOpLayout of Relay put exp in the place of the model's operator."


def test_the_rules_that_schedule_a_kernel_are_named_where_they_differ():
    def by(rule: str) -> CompilerSide:
        made = side("relax", FUSED)
        for row in made.kernels.rows if made.kernels else ():
            dict.update(row, rule=rule)  # type: ignore[arg-type]
        return made

    (row,) = differences(by("Matmul"), by("Reduction"))
    assert row.why == "Relax schedules it by dlight's rule Matmul. Relax schedules it by dlight's rule Reduction."
    for rules in (("Matmul", "Matmul"), ("Matmul", ""), ("", "")):
        (row,) = differences(*map(by, rules))
        assert row.why == ""


def test_kernels_of_one_side():
    relay = side("relay", [("exp", "a", OPAQUE), ("layout_transform", "", OPAQUE)])
    relax = side("relax", [("exp", "a", OPAQUE), ("log", "z", OPAQUE)])
    pair = CompilerPair(relay, relax, rows=differences(relay, relax))
    alone, both, added = pair.rows
    assert [pair.relation(row) for row in pair.rows] == ["only Relax", "one to one", "only Relay"]
    assert alone.why.startswith("Relax alone runs this")
    assert (both.why, added.why) == ("", "a pass of Relay added this; no node of the model does it")


def order(rows: Sequence[Difference]) -> list[tuple[str, ...]]:
    return [row.sources for row in rows]


def test_rows_are_sorted_by_time_lost_or_else_by_bytes():
    apart: Sequence[Op] = [(op, name, OPAQUE) for op, name, _ in FUSED]
    rows = differences(side("relay", apart, [1.0, 1.0, 9.0]), side("relax", apart, [1.0, 5.0, 2.0]))
    assert order(rows) == [("b",), ("a",), ("c",)]
    assert [row.us_lost for row in rows] == [4.0, 0.0, -7.0]
    table = CompilerComparison("m", (CompilerPair(side("relay", apart), side("relax", apart), rows=rows),)).table
    assert list(table["us_lost"]) == [4.0, 0.0, -7.0]
    assert list(table.columns)[:3] == ["target", "sources", "relation"]
    untimed = differences(side("relay", [*apart, ("tanh", "d", OPAQUE)]), side("relax", apart))
    assert order(untimed)[-1] == ("d",)


def test_each_call_is_in_one_row():
    left, right = side("relay", SPLIT), side("relax", [*FUSED, ("reshape", "r", OPAQUE)])
    rows = differences(left, right)
    assert left.kernels is not None
    assert right.kernels is not None
    assert sum(row.bytes_left for row in rows) == left.kernels.traffic_bytes
    assert sum(row.bytes_right for row in rows) == right.kernels.traffic_bytes


def test_titles_differ_and_are_short():
    plain, long = (
        Compiler("relax"),
        Compiler("relax", config=Config(pipeline="BindParams,LegalizeOps,AnnotateTIROpPattern")),
    )
    options = Compiler("relax", config=Config(options={f"tir.option_{place}": place for place in range(4)}))
    for both, versions, targets, expected in (
        ((plain, long), ("", ""), ("llvm", "llvm"), ["Relax opt 3", "Relax pipeline of 3 passes"]),
        ((long, long), ("", ""), ("llvm", "llvm"), ["Relax A", "Relax B"]),
        ((plain, options), ("", ""), ("llvm", "llvm"), ["Relax opt 3", "Relax opt 3 option_0=0 option_1=1..."]),
        ((Compiler("relay"), plain), ("0.17.dev0", "0.27.0"), ("llvm", "llvm"), ["Relay", "Relax"]),
        ((plain, plain), ("0.26.0", "0.27.0"), ("llvm", "llvm"), ["Relax 0.26", "Relax 0.27"]),
        ((plain, plain), ("", "0.27.0"), ("llvm", "llvm"), ["Relax", "Relax 0.27"]),
        ((plain, plain), ("", ""), ("llvm -mcpu=a", "llvm -mcpu=b"), ["Relax llvm -mcpu=a", "Relax llvm -mcpu=b"]),
        ((Compiler("relax", title="x"), Compiler("relax", title="x")), ("", ""), ("llvm", "cuda"), ["x A", "x B"]),
    ):
        assert titles(both, versions, targets) == expected


def test_a_fact_of_both_sides_is_not_a_reason():
    fallbacks = {"relax_0": "without a schedule"}
    (row,) = differences(side("relax", FUSED, fallbacks=fallbacks), side("relax", FUSED, fallbacks=fallbacks))
    assert row.why == ""
    (row,) = differences(side("relax", FUSED, fallbacks=fallbacks), side("relax", FUSED))
    assert row.why == "Relax compiles relax_0 without a schedule."


@pytest.mark.parametrize(
    ("nodes", "outputs", "said"),
    [
        ((1, 2), (1, 2), "part at the node block.Relu, before any pass"),
        (
            (1, 1),
            (1, 2),
            "agree at each of 1 node that both have, and their outputs differ before any pass: an importer is",
        ),
        (
            (1, 1),
            (1, 1),
            "agree at each of 1 node that both have, and their outputs agree, so a pass of a build is the",
        ),
        (
            (1, None),
            (1, 2),
            "have no node in common, and their outputs differ before any pass: an importer is the cause",
        ),
        (
            (1, None),
            (1, 1),
            "have no node in common, and their outputs agree, so a pass of a build is the cause: wb.bis",
        ),
        (
            (1, MeasureError("it is large")),
            (1, 2),
            "cannot be compared node by node (it is large), and their outputs differ",
        ),
        (
            (1, None),
            (1, MeasureError("it fails")),
            "have no node in common, and their outputs were not compared: it fails",
        ),
    ],
)
def test_the_cause_is_what_was_compared(
    nodes: tuple[Any, Any], outputs: tuple[Any, Any], said: str, monkeypatch: pytest.MonkeyPatch
):
    def of(runner: int, found: tuple[Any, Any], name: str) -> dict[str, np.ndarray]:
        if isinstance(found[runner], Exception):
            raise found[runner]
        return {} if found[runner] is None else {name: np.array([found[runner]])}

    monkeypatch.setattr(outputs_module, "_node_values", lambda runner: of(runners.index(runner), nodes, "block.Relu"))
    runners: Any = [Mock(), Mock()]
    for at, runner in enumerate(runners):
        runner.values = lambda wanted, at=at: Mock(outputs=[*of(at, outputs, "output0").values()])
    assert f"the imported programs {said}" in outputs_module.where_they_part(runners)


def test_values_of_two_types_are_compared_in_full():
    same = outputs_module._same_value
    assert not same(np.array([2**32 + 1]), np.array([1], "int32"))
    assert same(np.array([1.0 + 1e-6]), np.array([1], "float32"))
    assert same(np.array([True]), np.array([1], "int8"))


def drawn(left: Graph, right: Graph) -> KernelGraphs:
    return kernel_graphs(align(left, right))


def test_a_kernel_is_one_node_with_its_operators_and_the_input_is_drawn_once():
    shown = drawn(fused([[("exp", "layer.1.Exp"), ("exp", "layer.1.Log")]]), fused([[("exp", "layer.1.Exp")]]))
    x, kernel = shown.left.nodes
    assert (x.kind, x.op) == ("param", "x")
    assert (kernel.op, kernel.name, kernel.scope) == ("exp + 1", "fused", "layer.1")
    assert kernel.attrs == {"operators": "exp x 2", "computes": "layer.1.Exp, layer.1.Log", "operations": 12}
    assert [(edge.source, edge.target) for edge in shown.left.edges] == [(0, 1)]
    assert shown.left.outputs == (1,)


def test_the_marks_are_those_of_the_alignment():
    shown = drawn(
        built([("layout_transform", ""), ("exp", "ab"), ("log", "c"), ("log", "d"), ("exp", "e"), ("exp", "f")]),
        built([("exp", "a"), ("exp", "b"), ("log", "cd"), ("log", "e"), ("exp", "f")]),
    )
    changes = shown.changes
    assert (changes.split, changes.merged) == (((2, (1, 2)),), (((3, 4), 3),))
    assert (changes.kept, changes.changed) == (((0, 0), (6, 5)), ((5, 4),))
    assert (changes.removed, changes.added) == ((1,), ())


def test_a_parameter_of_one_side_is_not_drawn():
    builder = GraphBuilder("g", "relax")
    x, weight = (builder.node("param", name, type="Tensor[(2, 3), float32]") for name in ("x", "weight"))
    builder.outputs = [builder.node("op", "add", [x, weight], type="Tensor[(2, 3), float32]", source=("a",))]
    shown = drawn(built([("add", "a")]), builder.build())
    assert [node.op for node in shown.right.nodes] == ["x", "add"]


def test_a_value_is_followed_through_a_tuple_outside_of_kernels():
    builder = GraphBuilder("g", "relay")
    x = builder.node("param", "x", type="Tensor[(2, 3), float32]")
    first, second = (builder.node("op", op, [x], type="Tensor[(2, 3), float32]", source=(op,)) for op in ("exp", "log"))
    both = builder.node("tuple", "", [first, second])
    builder.outputs = [builder.node("op", "concatenate", [both], type="Tensor[(4, 3), float32]", source=("c",))]
    graph = builder.build()
    assert [(e.source, e.target) for e in drawn(graph, graph).left.edges] == [(0, 1), (0, 2), (1, 3), (2, 3)]


@given(programs, programs)
def test_each_kernel_is_a_node_and_each_node_has_one_mark(left: Graph, right: Graph):
    alignment = align(left, right)
    shown = kernel_graphs(alignment)
    changes = shown.changes
    for at, graph in enumerate((shown.left, shown.right)):
        kernels = [node.id for node in graph.nodes if node.kind == "call"]
        assert list(shown.nodes[at]) == list(range(len((alignment.left, alignment.right)[at].kernels)))
        assert sorted(shown.nodes[at].values()) == kernels
    many, few = ([pair[at] for pair in changes.merged] for at in (0, 1))
    one, several = ([pair[at] for pair in changes.split] for at in (0, 1))
    pairs = [*changes.kept, *changes.changed]
    before = [*(b for b, _ in pairs), *(id for ids in many for id in ids), *one, *changes.removed]
    after = [*(a for _, a in pairs), *few, *(id for ids in several for id in ids), *changes.added]
    assert sorted(before) == [node.id for node in shown.left.nodes]
    assert sorted(after) == [node.id for node in shown.right.nodes]


@given(programs)
def test_a_build_and_itself_have_only_kept_kernels_where_they_align_one_to_one(graph: Graph):
    alignment = align(graph, graph)
    moves = [group for group in alignment.groups if any(group.moves)]
    if all(group.kind == ONE for group in alignment.groups) and not moves:
        shown = kernel_graphs(alignment)
        assert shown.changes.empty
        assert shown.left == shown.right
