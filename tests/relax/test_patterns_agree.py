"""wb.match on Relax: TVM's matcher decides, our rules agree with it, and what is taken is what FuseOpsByPattern takes."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import tvm
from breadth import random_seeds
from kernel_programs import Program
from tvm import relax
from tvm.relax import dpl

import workbench as wb
from workbench.analysis.patterns.matcher import Matcher
from workbench.analysis.patterns.pattern import PatternError
from workbench.dialects.relax.patterns.match import paired
from workbench.dialects.relax.patterns.program import RelaxProgram, programs


class Drawn:
    """Draws a pattern that looks like an expression, more or less."""

    def __init__(self, random: Random, program: RelaxProgram) -> None:
        self.random = random
        self.program = program
        calls = [row for row, here in enumerate(program.rows) if here.kind in ("call", "get_item")]
        self.calls = calls or [*range(len(program.rows))]
        "what patterns are made like; a program of aliases alone has no calls"
        self.made: list[Any] = []

    def pattern(self) -> Any:
        return self.exactly(self.random.choice(self.calls), 3)

    def like(self, row: int, depth: int) -> Any:
        if self.made and self.random.random() < 0.1:
            return self.random.choice(self.made)
        made = dpl.wildcard() if depth <= 0 or self.random.random() < 0.25 else self.exactly(row, depth - 1)
        if self.random.random() < 0.15:
            made = self.constrained(made)
        if self.random.random() < 0.15:
            other = self.exactly(self.random.choice(self.calls), depth - 2)
            made = self.random.choice([made | other, other | made, made & other, made & ~other])
        self.made.append(made)
        return made

    def exactly(self, row: int, depth: int) -> Any:
        if self.random.random() < 0.1:
            row = self.random.choice(self.calls)
        here, expr = self.program.rows[row], self.program.expressions[row]
        if here.kind == "call":
            arguments = list(here.parts[1:])
            if self.random.random() < 0.3:
                arguments.reverse()
            keep = arguments[: self.random.randint(0, len(arguments))] if self.random.random() < 0.3 else arguments
            inner = [self.like(part, depth) for part in keep]
            if expr.op.name in ("relax.multiply", "relax.divide") and len(inner) < 2:
                inner += [dpl.wildcard()] * (2 - len(inner))  # TVM reads past the end without them
            rest = len(inner) < len(arguments)
            return dpl.pattern.CallPattern(dpl.is_op(expr.op.name), inner, rest, add_constraint=False)
        if here.kind == "get_item":
            return dpl.is_tuple_get_item(self.like(here.parts[0], depth), self.random.choice([None, here.index, 1]))
        if here.kind == "tuple":
            fields = [self.like(part, depth) for part in here.parts]
            return dpl.is_tuple(fields, unordered=self.random.random() < 0.4)
        if here.kind == "constant":
            return dpl.is_const() if self.random.random() < 0.5 else dpl.is_expr(expr)
        if here.kind == "var":
            return dpl.is_var(self.random.choice(["", here.name, "other"]))
        return dpl.wildcard()

    def constrained(self, made: Any) -> Any:
        return self.random.choice(
            [made.has_shape([4, 8]), made.has_shape([4, 4]), made.has_dtype("float32"), made.has_attr({"axis": 1})]
        )


@random_seeds(range(20), 400)
def test_random_programs(seeds: range, tell: pytest.CaptureFixture[str]) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        # of dead code FuseOps makes kernels that its own end leaves out, and warns
        module = relax.transform.DeadCodeElimination()(Program(random, 8).block.get())
        workload = wb.load(module)
        (program,) = programs(module, "main")
        drawn = Drawn(random, program)
        for _ in range(4):
            pattern = drawn.pattern()
            both = paired(pattern)
            program.paired = both
            told = wb.match(workload, pattern)
            seen["patterns"] += 1
            _agree_on_each(program, both, seen)
            _agree_on_taken(module, told, pattern, seen)
    tell(f"DPL patterns against TVM: {dict(seen)}; 0 disagreements, or this test failed")
    assert seen["matches"] > seen["patterns"] // 2
    assert seen["taken"]


def _agree_on_each(program: RelaxProgram, both: Any, seen: Counter[str]) -> None:
    matcher = Matcher(program, both.pattern)
    for row, expr in enumerate(program.expressions):
        if not program.nodes[row]:
            continue
        seen["expressions"] += 1
        try:
            theirs = both.root.extract_matched_expr(expr, program.values)
        except Exception:  # noqa: BLE001  has_attr of a call without attributes
            seen["TVM fails"] += 1
            continue
        try:
            ours = matcher.match(row)
        except PatternError:
            ours = None
        if ours is None and matcher.failure is not None and matcher.failure.reason == "tvm-fails":
            continue
        swaps = {"relax.multiply", "relax.divide"} <= {n.fields["name"] for n in both.pattern.nodes if n.kind == "op"}
        if swaps and ours is None:
            continue  # only TVM reads (a * b) / c as a * (b / c)
        assert (ours is None) == (theirs is None), (both.pattern, program.named(row), matcher.failure)
        seen["matches"] += ours is not None


def _agree_on_taken(module: tvm.IRModule, told: Any, pattern: Any, seen: Counter[str]) -> None:
    try:
        after = relax.transform.FuseOpsByPattern([("t.t", pattern)], bind_constants=False)(module)
    except Exception:  # noqa: BLE001  has_attr again, or kernels that would need each other
        seen["FuseOpsByPattern fails"] += 1
        return
    graph = wb.load(after).graph
    theirs = Counter(
        tuple(sorted(graph.nodes[n].op for n in graph.members[group.id] if graph.nodes[n].kind == "op"))
        for group in graph.groups
        if group.kind == "composite" or "Composite" in group.attrs
    )
    ours = Counter(
        tuple(sorted(told.graph.nodes[n].op for n in match.nodes if told.graph.nodes[n].kind == "op"))
        for match in told.taken
    )
    seen["taken"] += len(told.taken)
    assert sum(ours.values()) == sum(theirs.values()), (told, ours, theirs)
