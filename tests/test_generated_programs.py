"""Generated programs: they are well formed, repeat, run, have what real programs have, and match the patterns that they are made for."""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import workbench as wb
from workbench.analysis.patterns.pattern import PatternError
from workbench.dialects.base import frontend_of
from workbench.dialects.registry import installed
from workbench.pipeline.outputs import run_once
from workbench.testing import programs
from workbench.testing.programs import Kind, program

OWN = getattr(programs, f"{installed()}_programs", programs.relax_programs)
"the strategy of the dialect that is here"


@pytest.fixture
def prefix(dialect: str) -> str:
    """Return what the dialect registers its operators under."""
    return wb.samples.load("chain").graph.ops[0].op.removesuffix("add")


def test_programs_are_well_formed_and_repeat(dialect: str):
    for seed in range(200):
        made, again = program(seed, dialect=dialect), program(seed, dialect=dialect)
        front = frontend_of(made)
        assert made.name == f"generated {seed}"
        assert front.flaw(made.module) == "", seed
        assert front.same(made.module, again.module), seed
        assert made.params.keys() == again.params.keys()
        assert all(np.array_equal(made.params[each].numpy(), again.params[each].numpy()) for each in made.params)


def test_programs_have_what_real_ones_have(dialect: str, prefix: str):
    found: Counter[str] = Counter()
    for seed in range(100):
        made = program(seed)
        graph = made.graph
        users = Counter(source for node in graph.ops for source in set(graph.inputs[node.id]))
        text = made.text()
        found["shared"] += any(count > 1 for count in users.values())
        found["same operand twice"] += any(
            len(set(graph.inputs[each.id])) < len(graph.inputs[each.id]) for each in graph.ops
        )
        found["fields"] += any(node.kind == "get_item" for node in graph.nodes)
        found["outputs"] += len(graph.outputs) > 1 or graph.nodes[graph.outputs[0]].kind == "tuple"
        found["constants"] += any(node.kind == "constant" for node in graph.nodes)
        found["parameters"] += bool(made.params)
        found["symbolic"] += bool(made.shapes)
        found["function"] += "helper" in text
        found.update(each for each in ("int8", "int32", "float16", "bool") if each in text)
        found.update({node.op.removeprefix(prefix) for node in graph.ops})
    everywhere = [
        "shared",
        "same operand twice",
        "fields",
        "outputs",
        "constants",
        "parameters",
        "int8",
        "float16",
        "int32",
        "function",
    ]
    operators = ["add", "reshape", "split", "nn.conv2d", "nn.softmax", "where", "take", "nn.batch_norm", "mean"]
    own = ["symbolic", "matmul"] if prefix else ["nn.dense", "nn.batch_matmul"]
    assert [each for each in (*everywhere, *operators, *own) if not found[each]] == []


def test_programs_run(dialect: str):
    varied = 0
    for seed in range(15):
        outputs = run_once(program(seed, dialect=dialect), timeout=60).outputs
        assert all(np.isfinite(each.astype("float64")).all() for each in outputs), seed
        varied += any(each.size == 1 or each.min() < each.max() for each in outputs)
    assert varied >= 14


PATTERNS = [
    "is_op('nn.relu')(is_op('add')(is_op('nn.conv2d')(wildcard(), is_const()), wildcard()))",
    "is_op('subtract')(is_op('exp')(wildcard()), is_var())",
    "is_op('multiply')(is_op('sum')(wildcard()).has_attr({'keepdims': True}), wildcard())",
    "is_op('add')(is_tuple_get_item(is_op('split')(wildcard()), 0), is_const())",
    "is_op('nn.relu')(is_op('maximum')(wildcard(), wildcard()).has_dtype('float32'))",
    "is_op('nn.relu')(is_op('tanh')(wildcard()).has_dtype('float16'))",
]


@pytest.mark.parametrize("place", range(len(PATTERNS)))
def test_programs_of_a_pattern_match_or_nearly(dialect: str, prefix: str, place: int):
    pattern = PATTERNS[place].replace("is_op('", f"is_op('{prefix}")
    found = [wb.match(program(seed, pattern=pattern), pattern) for seed in range(20)]
    matches = sum(map(bool, found))
    near = sum(not each and bool(each.near_misses) for each in found)
    assert matches >= 8
    assert near >= 8


def test_programs_have_what_algebraic_passes_look_for(dialect: str, prefix: str):
    divisions = f"is_op('{prefix}divide')(wildcard(), is_const()).has_dtype('int32')"
    made = [program(seed, pattern=divisions) for seed in range(0, 40, 2)]
    assert all(wb.match(each, divisions) for each in made)
    # it imports TVM, which the core lane has not
    from workbench.testing.growth import Growth

    growth = Growth(Random(0), Kind.of(dialect, None), matches=True)
    constants = [growth.leaf((4,), "float32", "constant") for _ in range(100)]
    assert {0, 1} == {each.low for each in constants if each.low == each.high}
    norms = [program(seed, likely=[f"{prefix}nn.batch_norm"]).graph for seed in range(20)]
    attrs = [node.attrs for graph in norms for node in graph.ops if node.op == f"{prefix}nn.batch_norm"]
    assert 0 < sum("epsilon" in each for each in attrs) < len(attrs)  # a graph has those that are not the default


def test_patterns_of_functions_are_refused(dialect: str):
    with pytest.raises(PatternError, match="the pattern"):
        program(0, pattern="FunctionPattern(None, wildcard())")


def test_large_programs_have_the_pattern_in_proportion(dialect: str, prefix: str):
    pattern = PATTERNS[1].replace("is_op('", f"is_op('{prefix}")
    made = next(
        each
        for each in (program(seed, operators=300, pattern=pattern) for seed in range(20))
        if wb.match(each, pattern)
    )
    assert len(wb.match(made, pattern).matches) >= 10
    assert 290 <= len(made.graph.ops) <= 330


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(OWN(operators=6))
def test_strategies_make_well_formed_programs(dialect: str, made: wb.Workload):
    assert frontend_of(made).flaw(made.module) == ""


def test_strategies_without_hypothesis_name_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(wb.WorkbenchError, match="pip install hypothesis"):
        OWN()
