"""Sibling branches on graphs without TVM: what is counted, and what the rebuilt graph looks like."""

from __future__ import annotations

import time
from dataclasses import replace
from graphlib import TopologicalSorter

import pytest

from workbench.analysis.branches import BranchGroup, parallel_branches
from workbench.analysis.branches.calls import circular
from workbench.analysis.tensors import Tensor, nbytes, tensor
from workbench.errors import WorkbenchError
from workbench.graph.model import After, Graph, GraphBuilder

T = "Tensor[(2, 8), float32]"


def casts(count=2, dialect="relay"):
    """`count` equal casts of one value, a relu behind each, and a tuple of all."""
    builder = GraphBuilder("casts", dialect)
    group = builder.group("function", "main", None)
    data = builder.node("param", "data", type=T, group=group)
    ends = []
    for _ in range(count):
        cast = builder.node(
            "op", "cast", [data], type="Tensor[(2, 8), int8]", attrs={"dtype": "int8"}, pattern=0, group=group
        )
        ends.append(builder.node("op", "nn.relu", [cast], type="Tensor[(2, 8), int8]", pattern=0, group=group))
    builder.outputs = [builder.node("tuple", "tuple", ends, group=group)]
    return builder.build()


def test_equal_branches_are_found_from_the_producer_on_and_their_saving_is_counted():
    (found,) = parallel_branches(casts(3))
    assert (found.kind, found.producer, found.branches) == ("identical", 0, ((1, 2), (3, 4), (5, 6)))
    assert (found.change, found.cost) == (None, "not tried: needs TVM and the module; give the workload, not its graph")
    assert "3 branches of cast -> nn.relu" in str(found)


def asked(before: Graph, after: After) -> BranchGroup:
    """Return the only group of a graph whose pass leaves that."""
    (found,) = parallel_branches(replace(before, ask_after=lambda _passes: after))
    return found


def test_what_the_pass_merges_is_counted():
    before = casts(3)
    found = asked(before, After(before, casts(1)))
    assert (found.change.ops, found.change.kernels) == (-4, -2)
    # two kernels less: each read 64 bytes of float32 and wrote 16 of int8
    assert found.change.traffic_bytes == -2 * (64 + 16)
    assert found.outcome.sentence == "merged as stated"
    assert str(found).startswith("identical: 3 branches")


def test_an_outcome_that_contradicts_the_rules_is_the_headline():
    before = casts(3)
    found = asked(before, After(before, before))
    assert (found.outcome.status, found.outcome.contradicts, found.change) == ("not merged", True, None)
    assert str(found).startswith("not merged by TVM, identical by the rules: 3 branches")


def test_an_error_of_the_pass_is_shown():
    before = casts(3)
    found = asked(before, After(before, failure="the child process ended with SIGSEGV"))
    assert "TVM's pass fails: the child process ended with SIGSEGV" in str(found)
    assert str(found).startswith("failed by TVM, identical by the rules")


def test_a_relax_graph_without_a_module_has_no_verdict_of_tvm():
    (found,) = parallel_branches(casts(2, "relax"))
    assert (found.kind, found.branches) == ("near", ((1,), (3,)))
    assert [reason.code for reason in found.reasons] == ["not-tried"]
    assert "it was not tried whether TVM merges them" in str(found.reasons[0])


def test_a_call_that_lacks_an_argument_is_told_by_name():
    builder = GraphBuilder("malformed", "relay")
    data = builder.node("param", "data", type=T)
    for _ in range(3):
        builder.node("op", "nn.dense", [data], type=T)
    with pytest.raises(WorkbenchError, match=r"nn\.dense \(node 1\) has 1 input and takes 2"):
        parallel_branches(builder.build())


def test_a_graph_of_another_dialect_is_refused():
    with pytest.raises(WorkbenchError, match="passes of Relay and Relax"):
        parallel_branches(casts(dialect="another"))


def test_an_empty_graph_has_no_branches():
    assert parallel_branches(Graph(dialect="relay")) == []


def test_a_value_that_would_need_itself_is_noticed():
    graph = casts()
    fine, circle = ((1,), (3,)), ((1,), (2,))
    assert circular(graph, [fine]) == set()
    assert circular(graph, [fine, circle]) == {1}
    assert circular(graph, [circle, ((2,), (3,))]) == {0}, "a call may be in two groups"


def test_many_circles_in_a_long_graph_are_noticed_soon():
    builder = GraphBuilder("long", "relay")
    node = builder.node("param", "x")
    for _ in range(20_000):
        node = builder.node("op", "exp", [node])
    started = time.process_time()
    assert circular(builder.build(), [((1,), (2,))] * 200) == set(range(200))
    assert time.process_time() - started < 2


def test_groups_are_checked_for_circles_in_python_3_10_too(monkeypatch):
    # its TopologicalSorter takes no type argument
    monkeypatch.delattr(TopologicalSorter, "__class_getitem__")
    assert circular(casts(), [((1,), (3,))]) == set()


def test_combinable_branches_without_tvm_have_no_cost():
    builder = GraphBuilder("dense", "relay")
    data, first, second = (builder.node("param", name, type=T) for name in ("x", "v", "w"))
    ends = [
        builder.node("op", "nn.dense", [data, w], type="Tensor[(2, 2), float32]", pattern=4) for w in (first, second)
    ]
    builder.outputs = [builder.node("tuple", "tuple", ends)]
    groups = [group for group in parallel_branches(builder.build()) if group.kind == "combinable"]
    assert groups
    assert all(
        group.change is None and group.cost == "not tried: needs TVM and the module; give the workload, not its graph"
        for group in groups
    )


def test_relax_products_without_a_module_have_no_verdict_of_tvm():
    builder = GraphBuilder("products", "relax")
    data, first, second = (builder.node("param", name, type='R.Tensor((8, 8), dtype="float32")') for name in "xvw")
    ends = [
        builder.node("op", "relax.matmul", [data, w], type='R.Tensor((8, 8), dtype="float32")') for w in (first, second)
    ]
    builder.outputs = [builder.node("tuple", "tuple", ends)]
    (found,) = parallel_branches(builder.build())
    assert (found.kind, found.producer, found.codes) == ("near", data, ("not-tried",))
    assert "needs TVM" in found.reasons[0].sentence


@pytest.mark.parametrize(
    ("text", "expected", "size"),
    [
        ("Tensor[(2, 8), float32]", Tensor((2, 8), "float32"), 64),
        ("Tensor[(1,), int8]", Tensor((1,), "int8"), 1),
        ("Tensor[(), bool]", Tensor((), "bool"), 1),
        ("float16", Tensor((), "float16"), 2),
        ("Tensor[(?, 8), int4]", Tensor(("?", 8), "int4"), 0),
        ("(Tensor[(2, 8), float32], Tensor[(3), int64])", None, 88),
        ("fn (int8) -> int8", None, 0),
    ],
)
def test_types_are_read(text, expected, size):
    assert tensor(text) == expected
    assert nbytes(text) == size


def test_a_thousand_branches_are_found_in_reasonable_time():
    (found,) = parallel_branches(casts(1000))
    assert len(found.branches) == 1000
