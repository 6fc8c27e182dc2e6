"""The graph says what TVM's objects say: the same calls with the same types, and the same values behind every edge."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from breadth import breadth, seeds
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


TYPE = relay.TensorType((2, 3), "float32")
UNARY = (relay.nn.relu, relay.exp, relay.tanh)
BINARY = (relay.add, relay.multiply)


class Program:
    """Draws an expression out of a pool of values that may be used again."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.pool = [relay.Var(name, TYPE) for name in "xy"]
        self.condition = relay.Var("c", relay.TensorType((), "bool"))
        self.params = [*self.pool, self.condition]
        self.lets = 0

    def value(self, depth: int) -> relay.Expr:
        kinds = ["old", "unary", "binary", "constant"]
        if depth > 0:
            kinds += ["if", "let", "tuple", "in place", "closure", "ref"]
        lets = self.lets
        made = getattr(self, self.draw(st.sampled_from(kinds)).replace(" ", "_"))(depth - 1)
        # TVM allows a let in one place only
        self.pool += [made] if self.lets == lets else []
        return made

    def old(self, depth):
        return self.draw(st.sampled_from(self.pool))

    def unary(self, depth):
        return self.draw(st.sampled_from(UNARY))(self.value(depth))

    def binary(self, depth):
        return self.draw(st.sampled_from(BINARY))(self.value(depth), self.value(depth))

    def constant(self, depth):
        number = self.draw(st.integers(0, 3))
        array = np.full((2, 3), number, "float32") if self.draw(st.booleans()) else np.float32(number)
        return relay.add(relay.const(array), self.old(depth))

    def tuple(self, depth):
        pair = relay.Tuple([self.value(depth), self.value(depth)])
        return relay.add(relay.TupleGetItem(pair, 0), relay.TupleGetItem(pair, self.draw(st.integers(0, 1))))

    def if_(self, depth):
        return relay.If(self.condition, self.value(depth), self.value(depth))

    def let(self, depth):
        self.lets += 1
        variable, value = relay.Var(self.draw(st.sampled_from(["v", "0", "v v"])), TYPE), self.value(depth)
        return relay.Let(variable, value, self.inside([variable], depth))

    def ref(self, depth):
        return relay.RefRead(relay.RefCreate(self.value(depth)))

    def closure(self, depth):
        self.lets += 1
        param, function = relay.Var(f"q{self.lets}", TYPE), relay.Var("f")
        body = relay.Function([param], self.inside([param], depth))
        return relay.Let(function, body, relay.Call(function, [relay.Call(function, [self.value(depth)])]))

    def in_place(self, depth):
        """A kernel; it sees nothing but its arguments, and is called twice."""
        param, outer = relay.Var("p", TYPE), self.pool
        self.pool = [param]
        kernel = relay.Function([param], self.value(depth and 0)).with_attr("Primitive", tvm.tir.IntImm("int32", 1))
        self.pool = outer
        return relay.Call(kernel, [relay.Call(kernel, [self.value(depth)])])

    def inside(self, bound, depth):
        """A value that may use what is bound here; what is made here is not used outside."""
        outer = list(self.pool)
        self.pool = [*outer, *bound]
        made = self.value(depth)
        self.pool = outer
        return made


Program.if_.__name__ = "if"
setattr(Program, "if", Program.if_)


@st.composite
def modules(draw):
    program = Program(draw)
    return tvm.IRModule.from_expr(relay.Function(program.params, program.value(4)))


@given(modules())
@settings(max_examples=50)
def test_a_random_program_returns_the_same_value_in_the_graph(module):
    workload, terms = wb.load(module), Terms()
    assert graph_term(workload.graph, terms) == object_term(workload.module, terms)


@given(modules())
@settings(max_examples=50)
def test_a_random_program_has_each_call_once(module):
    workload = wb.load(module)
    assert graph_calls(workload.graph) == op_calls(workload.module)


@pytest.mark.long
@given(modules())
@settings(max_examples=len(seeds(700)))
def test_many_random_programs(module):
    workload, terms = wb.load(module), Terms()
    assert graph_term(workload.graph, terms) == object_term(workload.module, terms)
    assert graph_calls(workload.graph) == op_calls(workload.module)
