"""The matcher says what TVM's says: on every sample, and on random programs with patterns drawn from their own parts."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import tvm
from breadth import breadth, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from small_samples import SMALL
from test_structure import modules
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

import workbench as wb
from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.groups import Verdict, attempts
from workbench.analysis.patterns.matcher import Matcher
from workbench.analysis.patterns.pattern import PatternError
from workbench.dialects.relay.patterns.match import decide, paired
from workbench.dialects.relay.patterns.program import RelayProgram, programs

TYPED = ("type", "shape", "dtype")
ON_SAMPLES = [
    'is_op("split")(None)',
    "wildcard()",
    "wildcard()(None)",
    "wildcard()(wildcard(), wildcard())",
    "is_constant()",
    "is_var()",
    'is_op("add")(wildcard(), is_constant())',
    'is_op("add")(is_constant(), wildcard())',
    "x = wildcard()\nis_op('add')(x, x)",
    'is_op("multiply")(wildcard(), wildcard()).optional(lambda x: is_op("round")(x))',
    'is_op("divide")(is_op("multiply")(wildcard(), wildcard()), wildcard())',
    'is_tuple_get_item(is_op("split")(None), 1)',
    'is_tuple_get_item(is_op("nn.batch_norm")(None))',
    'wildcard()(None).has_attr({"axes": [0, 2, 1, 3]})',
    'is_op("nn.conv2d")(None).has_attr({"strides": [2, 2], "groups": 1})',
    'is_op("nn.conv2d").has_attr({"TOpPattern": 4})(None)',
    'is_op("cast")(wildcard().has_dtype("float32"))',
    'is_op("add")(wildcard().has_shape([4, 8, 16]), wildcard())',
    'is_op("cast")(wildcard()) | is_op("clip")(wildcard())',
    'is_op("nn.relu")(is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))',
    'is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard())',
    'dominates(is_op("split")(None), wildcard()(None), is_op("transpose")(None))',
    'dominates(is_op("split")(None), wildcard(), is_op("transpose")(None))',
    'dominates(is_op("nn.conv2d")(None), wildcard(), is_op("add")(wildcard(), wildcard()))',
    'dominates(is_op("nn.relu")(wildcard()), wildcard(), is_op("nn.relu")(wildcard()))',
    'dominates(is_op("reshape")(wildcard()), wildcard(), is_op("nn.softmax")(wildcard()))',
    "FunctionPattern(None, wildcard())(None)",
]

tried: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def figures(tell):
    before = Counter(tried)
    yield
    if tried != before:
        tell(f"patterns against TVM: {dict(tried - before)}; 0 disagreements, or this test failed")


def theirs_taken(program: RelayProgram, pattern: dfp.DFPattern, root: relay.Expr) -> list[int] | None:
    """The rows whose matches TVM's partition takes; None where TVM fails."""
    if isinstance(pattern, dfp.FunctionPattern):
        # partition leaves it out with a warning, and printing the warning may end the process; rewrite takes it
        return [row for row, _ in theirs_held(program, program.paired, root)]
    taken: list[relay.Expr] = []
    try:
        pattern.partition(root, check=lambda expr: taken.append(expr) or False)
    except tvm.TVMError:
        return None
    place = {expr: row for row, expr in enumerate(program.expressions)}
    return sorted(place[expr] for expr in taken)


def theirs_held(program: RelayProgram, both, root: relay.Expr) -> list[tuple[int, dict[int, set[int]]]]:
    """What TVM's rewrite says that each sub-pattern holds, in each match it takes."""
    place = {expr: row for row, expr in enumerate(program.expressions)}
    found = []

    class Callback(dfp.DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.pattern = both.root

        def callback(self, pre, post, node_map):
            ids = {sub: id for id, sub in enumerate(both.objects)}
            held = {ids[sub]: {place[each] for each in exprs} for sub, exprs in node_map.items() if sub in ids}
            found.append((place[pre], held))
            return post

    Callback().rewrite(root)
    return sorted(found, key=lambda each: each[0])


def agree(program: RelayProgram, both, root: relay.Expr) -> None:
    """Compare TVM's verdict and our explanation: what matches, what is taken, and what it holds."""
    program.paired = both
    theirs = theirs_taken(program, both.root, root)
    verdict = decide(program, both.objects, both.root)
    assert sorted(verdict.taken) == (theirs or []), both.pattern
    assert Verdict.from_json(json.loads(json.dumps(verdict.as_json()))) == verdict
    try:
        ours = attempts(program, Matcher(program, both.pattern))
    except PatternError:
        # TVM does not look at the calls inside a match that it took, and so may come to its end without the failure
        assert theirs != [] or swaps_division(both.pattern), both.pattern
        tried["both fail" if theirs is None else "TVM comes by without failing"] += 1
        return
    tried["expressions"] += len(program.rows)
    tried["matches"] += len(verdict.matched)
    if theirs is None:
        assert verdict.failure, both.pattern
        tried["TVM fails on a type"] += 1
        return
    _agree_on_reasons(program, both, verdict)
    if swaps_division(both.pattern):
        tried["division and multiplication in place of each other"] += 1
        return
    if not verdict.failed:
        assert values(program, ours) == {r for r in verdict.matched if program.rows[r].kind != "op"}, both.pattern
    taken = {each.row: each.held for each in ours if each.taken}
    if any(node.kind == "dominates" for node in both.pattern.nodes):
        tried["matches of dominates"] += len(verdict.matched)
    assert sorted(taken) == theirs, both.pattern
    tried["taken"] += len(taken)
    assert {row: sets(held) for row, held in taken.items()} == {r: sets(h) for r, h in verdict.taken.items()}
    if taken:
        assert [(row, sets(taken[row])) for row in sorted(taken)] == theirs_held(program, both, root), both.pattern


def values(program: RelayProgram, made) -> set[int]:
    """The rows that match, without operators, at which TVM is not asked for a match that it does not take."""
    return {each.row for each in made if each.held is not None and program.rows[each.row].kind != "op"}


def sets(held) -> dict[int, set[int]]:
    return {id: set(rows) for id, rows in held.items()}


def _agree_on_reasons(program: RelayProgram, both, verdict: Verdict) -> None:
    """The report follows TVM, and each match that is left has a known reason."""
    shown = attempts(program, Matcher(program, both.pattern), verdict)
    assert values(program, shown) == {row for row in verdict.matched if program.rows[row].kind != "op"}
    assert {each.row for each in shown if each.taken} == verdict.taken.keys()
    for each in shown:
        if each.held is not None and not each.taken and each.row in each.inside:
            assert each.refused is not None, both.pattern
            assert each.refused[0] in ("overlaps", "used-outside"), both.pattern
            tried["refusals explained"] += 1


def is_partial(pattern: Pattern, node) -> bool:
    """Return whether TVM fails on the arguments that a call of `multiply` or `divide` lacks."""
    name = pattern.nodes[node.children[0]].fields["name"] if pattern.names_operator(node) else ""
    return name in ("multiply", "divide") and len(node.children) < 3


def swaps_division(pattern: Pattern) -> bool:
    """Return whether TVM may read (a * b) / c as a * (b / c), which only TVM does."""
    return {"multiply", "divide"} <= {node.fields["name"] for node in pattern.nodes if node.kind == "op"}


def is_typed(pattern: Pattern) -> bool:
    return any(node.kind in TYPED for node in pattern.nodes)


@pytest.mark.parametrize("sample", breadth(sorted(SMALL), "branches", "mlp", "parallel_cast"))
def test_on_samples_fused_and_not(sample):
    before = wb.load(wb.samples.load(sample, **SMALL[sample]).module)
    trace = wb.trace(before, "SimplifyInference,FuseOps{fuse_opt_level=2}")
    for module in (before.module, trace.result):
        for program in programs(module, sample):
            for text in ON_SAMPLES:
                tried["pairs"] += 1
                agree(program, paired(text), module[program.name])


TYPE = relay.TensorType((4, 8), "float32")


class Drawn:
    """Draws a pattern that looks like an expression, more or less."""

    def __init__(self, draw, root) -> None:
        self.draw = draw
        self.expressions = [e for e in RelayProgram.of(root, {}, None, "").expressions if not isinstance(e, tvm.ir.Op)]
        self.made: list[dfp.DFPattern] = []

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(1, of)) == of

    def some(self) -> relay.Expr:
        return self.draw(st.sampled_from(self.expressions))

    def like(self, expr: relay.Expr, depth: int) -> dfp.DFPattern:
        if self.made and self.chance(10):
            return self.draw(st.sampled_from(self.made))
        made = dfp.wildcard() if depth <= 0 or self.chance(6) else self.exactly(expr, depth - 1)
        if self.chance(8):
            made = self.constrained(made, expr)
        if self.chance(8):
            other = self.like(self.some(), depth - 2)
            made = (made | other) if self.chance(2) else (other | made)
        self.made.append(made)
        return made

    def several(self, exprs, depth):
        if self.chance(8):
            return None
        return [self.like(each, depth) for each in exprs][: len(exprs) - self.chance(20)]

    def exactly(self, expr, depth) -> dfp.DFPattern:
        if self.chance(10):
            expr = self.some()
        if self.chance(5) and depth > 0:
            inner = [e for e in RelayProgram.of(expr, {}, None, "").expressions if isinstance(e, relay.Call)]
            parent = self.draw(st.sampled_from(inner)) if inner else self.some()
            path = self.like(self.some(), 1) if self.chance(3) else dfp.wildcard()
            return dfp.dominates(self.like(parent, 1), path, self.like(expr, 1))
        if isinstance(expr, relay.Call):
            callee = dfp.is_op(expr.op.name) if isinstance(expr.op, tvm.ir.Op) else self.like(expr.op, depth)
            arguments = list(expr.args)
            if self.chance(3):
                arguments.reverse()
            return dfp.CallPattern(callee, self.several(arguments, depth))
        if isinstance(expr, relay.Tuple):
            return dfp.is_tuple(self.several(expr.fields, depth))
        if isinstance(expr, relay.TupleGetItem):
            return dfp.is_tuple_get_item(self.like(expr.tuple_value, depth), self.draw(st.sampled_from([None, 0, 1])))
        if isinstance(expr, relay.If):
            return dfp.is_if(*(self.like(e, depth) for e in (expr.cond, expr.true_branch, expr.false_branch)))
        if isinstance(expr, relay.Let):
            return dfp.is_let(*(self.like(e, depth) for e in (expr.var, expr.value, expr.body)))
        if isinstance(expr, relay.Function):
            return dfp.FunctionPattern(self.several(expr.params, depth), self.like(expr.body, depth))
        if isinstance(expr, relay.Var):
            return dfp.is_var(self.draw(st.sampled_from(["", expr.name_hint])))
        if isinstance(expr, relay.Constant):
            return dfp.is_constant() if self.chance(2) else dfp.is_expr(expr)
        return dfp.wildcard()

    def constrained(self, made, expr) -> dfp.DFPattern:
        kind = self.draw(st.sampled_from(["type", "shape", "dtype", "attr"]))
        if kind == "type":
            return made.has_type(TYPE)
        if kind == "shape":
            return made.has_shape(self.draw(st.sampled_from([[4, 8], [], [4]])))
        if kind == "dtype":
            return made.has_dtype(self.draw(st.sampled_from(["float32", "bool"])))
        attrs = self.draw(st.sampled_from([{"Primitive": 1}, {"TOpPattern": 0}, {"x": 1}]))
        return made.has_attr(attrs)


@st.composite
def arithmetic(draw):
    """Diamonds upon diamonds, of operators that the matcher has rules of its own for."""
    x = relay.Var("x", TYPE)
    pool = [relay.exp(x)]
    for _ in range(draw(st.integers(1, 8))):
        made = draw(st.sampled_from([relay.add, relay.multiply, relay.divide, relay.tanh, relay.nn.relu]))
        count = 1 if made in (relay.tanh, relay.nn.relu) else 2
        pool.append(made(*(draw(st.sampled_from(pool[-3:])) for _ in range(count))))
    body = relay.Tuple(pool[-2:]) if draw(st.booleans()) else pool[-1]
    return tvm.IRModule.from_expr(relay.Function([x], body))


@st.composite
def pairs(draw):
    module = draw(modules() | arithmetic().map(relay.transform.InferType()))
    main = module["main"]
    drawn = Drawn(draw, main)
    return main, drawn.like(drawn.some(), 4)


@st.composite
def dominations(draw):
    """A `dominates` between two operators of a program without leaves, whose parent may have another way out."""
    main = relay.transform.InferType()(draw(arithmetic()))["main"]
    ends = {name: dfp.is_op(name)(None) for name in ("exp", "tanh", "nn.relu", "add")}
    ends.update({name: dfp.is_op(name)(dfp.wildcard(), dfp.wildcard()) for name in ("multiply", "divide")})
    last = main.body.fields[0] if isinstance(main.body, relay.Tuple) else main.body
    inner = [e for e in RelayProgram.of(last, {}, None, "").expressions if isinstance(e, relay.Call)]
    parent = ends[draw(st.sampled_from([inner[0], inner[0], *inner])).op.name]
    child = ends[draw(st.sampled_from([last, *inner])).op.name]
    path = draw(st.sampled_from([dfp.wildcard(), dfp.wildcard(), dfp.wildcard()(None), child, parent | child]))
    pattern = dfp.dominates(parent, path, child)
    # partition refuses what escapes for a reason of its own; inside a tuple, what `dominates` says shows
    return main, dfp.is_tuple([pattern, dfp.wildcard()]) if draw(st.booleans()) else pattern


def compare(main, pattern):
    both = paired(pattern)
    tried["pairs"] += 1
    agree(RelayProgram.of(main, {}, None, "main"), both, main)
    for expr in Counter(e for e in RelayProgram.of(main, {}, None, "main").expressions if not isinstance(e, tvm.ir.Op)):
        program = RelayProgram.of(expr, {}, None, "main")
        program.paired = both
        try:
            theirs = bool(both.root.match(expr))
        except tvm.TVMError:
            theirs = None
        try:
            ours = Matcher(program, both.pattern).match(len(program.rows) - 1) is not None
        except PatternError:
            ours = None
        tried["single matches compared"] += 1
        if (theirs is None and is_typed(both.pattern)) or swaps_division(both.pattern):
            continue
        if theirs is None:
            assert ours is None or any(is_partial(both.pattern, node) for node in both.pattern.nodes), both.pattern
            continue
        assert ours == theirs, (both.pattern, expr)


@given(pairs())
@settings(max_examples=30)
def test_on_random_programs(pair):
    compare(*pair)


@given(dominations())
@settings(max_examples=40)
def test_dominates_on_diamonds(pair):
    compare(*pair)


@pytest.mark.long
@given(dominations())
@settings(max_examples=len(seeds(400)))
def test_dominates_on_many_diamonds(pair):
    compare(*pair)


@pytest.mark.long
@given(pairs())
@settings(max_examples=len(seeds(500)))
def test_on_many_random_programs(pair):
    compare(*pair)
