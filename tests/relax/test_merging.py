"""Equal bindings of Relax against TVM: those called identical are those that EliminateCommonSubexpr merges, and no others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import pytest
import tvm
from breadth import random_seeds
from merging_programs import Merging
from tvm import relax
from tvm.script import ir
from tvm.script import relax as script

import workbench as wb
from workbench.analysis.outcome import Reason
from workbench.dialects.relax.compat import identity
from workbench.dialects.relax.graph import build_graph
from workbench.graph.model import Graph

SAME = "EliminateCommonSubexpr"


def bindings(module: tvm.IRModule) -> Iterator[tuple[int, Any]]:
    """Yield each binding with a number for its block."""
    bodies = [function.body for function in module.functions.values() if isinstance(function, relax.Function)]
    number = 0
    while bodies:
        for block in bodies.pop().blocks:
            number += 1
            for binding in block.bindings:
                yield number, binding
                if isinstance(binding.value, relax.If):
                    bodies += [binding.value.true_branch, binding.value.false_branch]
                elif isinstance(binding.value, relax.Function):
                    bodies.append(binding.value.body)


def classes(pairs: Iterable[tuple[int, int]]) -> set[frozenset[int]]:
    """Return the sets of things that pairs put together."""
    of: dict[int, set[int]] = {}
    for a, b in pairs:
        joined = of.get(a, {a}) | of.get(b, {b})
        of.update(dict.fromkeys(joined, joined))
    return {frozenset(each) for each in of.values() if len(each) > 1}


def operators(graph: Graph) -> Counter[str]:
    return Counter(node.op for node in graph.ops)


class Compared:
    """One program: its groups, and the same of the pass's result, by the identity of variables."""

    def __init__(self, module: tvm.IRModule) -> None:
        self.module = module
        self.graph = wb.load(module).graph
        self.result = relax.transform.EliminateCommonSubexpr()(module)
        self.bound: dict[int, Any] = {}
        "the binding behind each node; a call that is drawn in place has none"
        build_graph(module, "main", self.bound)
        self.owner = {
            identity(inner.var): identity(binding.var)
            for _, binding in bindings(self.result)
            if isinstance(binding.value, relax.Function)
            for _, inner in bindings(tvm.IRModule({"local": binding.value}))
        }
        "for each variable of a local function, a number of that function"
        self.block = {identity(binding.var): number for number, binding in bindings(module)}
        self.groups = [group for group in wb.parallel_branches(self.graph) if group.passes == SAME]

    def variable(self, node: int) -> Any:
        after = self.graph.nodes[node + 1 : node + 2]
        if node not in self.bound and after and after[0].kind == "match":
            node += 1  # the variable is that of the match_cast around the call
        return self.bound[node].var if node in self.bound else None

    @cached_property
    def theirs(self) -> set[frozenset[int]]:
        """Return the sets of variables of calls that the pass merges."""
        drawn = {identity(binding.var) for binding in self.bound.values()}
        calls = {identity(b.var) for _, b in bindings(self.module) if isinstance(b.value, relax.Call)} & drawn
        pairs = [(identity(b.var), identity(b.value)) for _, b in bindings(self.result) if is_alias(b)]
        return classes((var, value) for var, value in pairs if var in calls and var not in self.misplaced)

    @cached_property
    def misplaced(self) -> set[int]:
        """Return the variables that the pass replaces by one of a function that is not around them."""
        pairs = {identity(b.var): identity(b.value) for _, b in bindings(self.result) if is_alias(b)}
        return {var for var, value in pairs.items() if self.owner.get(value, 0) not in (0, self.owner.get(var, 0))}

    @cached_property
    def ours(self) -> set[frozenset[int]]:
        """Return the sets of variables that the groups merge; the body of a merged `if` or function is left out."""
        left = {identity(binding.var) for _, binding in bindings(self.result)}
        pairs: list[tuple[int, int]] = []
        for group in self.groups:
            for level in zip(*group.branches, strict=True) if group.kind == "identical" else ():
                named = [identity(var) for node in level if (var := self.variable(node)) is not None]
                named = [var for var in named if var in left]
                pairs += itertools.pairwise(named)
        return classes(pairs)

    def check(self) -> None:
        assert self.ours == self.theirs
        drawn = {identity(binding.var) for binding in self.bound.values()}
        nodes = [group.branches[0][0] for group in self.groups if group.kind == "hazard"]
        hazards = {identity(self.variable(node)) for node in nodes if self.graph.kernel_of(node) is None}
        assert hazards == self.misplaced & drawn
        if hazards:
            with pytest.raises(ValueError, match="is not defined"):
                relax.analysis.well_formed(self.result)
            return
        merged = [group for group in self.groups if group.kind == "identical"]
        assert all(group.outcome.sentence == "merged as stated" for group in merged)
        for group in self.groups:
            for reason in group.reasons:
                self.check_reason(reason)

    def check_reason(self, reason: Reason) -> None:
        variables = [self.variable(node) for node in reason.nodes]
        if None in variables:
            return
        a, b = map(identity, variables)
        assert not any({a, b} <= each for each in self.theirs), reason
        first, other = (self.graph.nodes[node] for node in reason.nodes)
        elsewhere = self.block[a] != self.block[b]
        holds = {
            "type": first.type != other.type,
            "scope": elsewhere,
            "dataflow-block": elsewhere and isinstance(variables[0], relax.DataflowVar),
        }
        assert holds.get(reason.code, True), reason


def is_alias(binding: Any) -> bool:
    return isinstance(binding.value, relax.Var)


@random_seeds(range(8), 50)
def test_identical_bindings_are_those_that_tvm_merges(seeds: range, tell: Callable[[str], None]) -> None:
    tally: Counter[str] = Counter()
    for seed in seeds:
        compared = Compared(Merging(seed).module())
        try:
            compared.check()
        except AssertionError as error:
            raise AssertionError(f"program {seed}") from error
        tally.update(group.kind for group in compared.groups)
        tally.update(reason.code for group in compared.groups for reason in group.reasons)
    tell(f"Relax equal bindings: {len(seeds)} programs, 0 disagreements; {dict(tally)}")
    assert tally["identical"] > len(seeds) / 4
    every = {"hazard", "type", "scope", "match-cast", "tuple-bound", "dataflow-block", "variables"}
    assert len(seeds) < 50 or every <= set(tally)


EFFECTS = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 3), "float32"), v: R.Tensor((4, 5), "float32")):
        {dead}
        a = R.exp(x)
        _ = R.print(a, format="{{}}")
        b = {second}
        _1 = R.print(b, format="{{}}")
        with R.dataflow():
            p = R.matmul(x, w)
            q = R.matmul(x, v)
            R.output(p, q)
        _2 = R.print(q, format="{{}}")
        return (a, b, p)
"""


@pytest.mark.parametrize("dead", ["d = R.tanh(x)", ""])
@pytest.mark.parametrize(("second", "passes"), [("R.exp(x)", SAME), ("R.negative(x)", "CombineParallelMatmul")])
def test_change_counts_operators_beside_effects(dead: str, second: str, passes: str) -> None:
    text = EFFECTS.format(dead=dead, second=second)
    w = wb.load(tvm.script.from_source(text, extra_vars={"I": ir, "R": script}))
    (group,) = [g for g in wb.parallel_branches(w) if g.passes == passes and g.kind in ("identical", "combinable")]
    after = wb.load(wb.trace(w, passes).result).graph
    assert group.change is not None
    assert group.change.ops == len(after.ops) - len(w.graph.ops)
