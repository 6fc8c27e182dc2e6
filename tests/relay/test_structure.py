"""The graph says what TVM's objects say: the same calls with the same types, and the same values behind every edge."""

from __future__ import annotations

import pytest
import tvm
from breadth import breadth, seeds
from fusion_programs import Program
from hypothesis import given, settings
from hypothesis import strategies as st
from object_walk import Terms, graph_calls, graph_term, object_term, op_calls
from relay_samples import opt_3
from small_samples import SMALL
from tvm import relay

import workbench as wb


def test_every_sample_is_looked_at():
    assert set(SMALL) == set(wb.samples.names("relay"))


@pytest.fixture(params=breadth(sorted(SMALL), "attention", "branches", "conv_bias_batch_norm", "parallel_cast"))
def sample(request):
    return wb.samples.load(request.param, **SMALL[request.param])


def test_a_sample_has_the_calls_that_tvm_has(sample):
    assert graph_calls(sample.graph) == op_calls(sample.module)


def test_so_it_has_after_each_pass_of_the_opt_3_pipeline(sample):
    trace = wb.trace(sample, opt_3())
    assert trace.failed is None
    for step in trace.steps:
        assert graph_calls(step.after) == op_calls(step.state_after.module), step.name


def test_bound_parameters_become_constants_with_the_digests_of_their_values(sample):
    bound = relay.build_module.bind_params_by_name(sample.module["main"], sample.params)
    for step in wb.trace(wb.load(bound), "SimplifyInference,CanonicalizeOps,FuseOps").steps:
        terms = Terms()
        assert graph_term(step.after, terms) == object_term(step.state_after.module, terms), step.name


def modules() -> st.SearchStrategy[tvm.IRModule]:
    """Return a strategy for typed programs with functions, lets, branches, kernels and tuples."""
    drawn = st.tuples(st.randoms(use_true_random=False), st.integers(1, 8))
    return drawn.map(lambda drawn: Program(*drawn).module())


def test_references_are_the_same_values():
    x = relay.var("x", shape=(2, 3))
    module = tvm.IRModule.from_expr(relay.Function([x], relay.RefRead(relay.RefCreate(relay.exp(x)))))
    check(module)


def check(module: tvm.IRModule) -> None:
    workload, terms = wb.load(module), Terms()
    assert graph_term(workload.graph, terms) == object_term(workload.module, terms)
    assert graph_calls(workload.graph) == op_calls(workload.module)


@given(modules())
@settings(max_examples=50)
def test_a_random_program_has_the_same_value_and_each_call_once(module):
    check(module)


@pytest.mark.long
@given(modules())
@settings(max_examples=len(seeds(700)))
def test_many_random_programs(module):
    check(module)
