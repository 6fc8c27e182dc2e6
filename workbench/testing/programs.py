"""Generated programs: typed, of valid shapes, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import TYPE_CHECKING

from workbench.analysis.patterns.pattern import PatternError
from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.dialects.registry import dialect_here
from workbench.errors import WorkbenchError
from workbench.pipeline.matching import match, read_pattern

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TRIES, CHECKED = 12, 100
"how often a program of a pattern is made until it has a match, or none; larger programs are not checked"


def program(
    seed: int, *, dialect: str | None = None, operators: int = 8, pattern: object = None, likely: Collection[str] = ()
) -> Workload:
    """Return a generated program, the same for the same seed in every process.

    Parameters
    ----------
    dialect
        `relax` or `relay`; by default the one that this environment's TVM runs.
    operators
        The number of its operators, about.
    pattern
        A DFPattern, its text or a Pattern. Programs of even seeds have matches of it, those of odd seeds near misses, in which one
        condition does not hold: one for each 16 operators.
    likely
        Names of operators: half of the calls are of these.

    Raises
    ------
    PatternError
        The pattern has a condition that the generator does not make, such as a function or an `if`.

    Examples
    --------
    >>> program(17)
    Workload('generated 17', relax, 0 parameters)
    """
    return _program(Random(seed), f"generated {seed}", dialect, operators, pattern, seed % 2 == 0, likely)


def relax_programs(*, operators: int = 8, pattern: object = None, dialect: str = "relax") -> SearchStrategy[Workload]:
    """Return a Hypothesis strategy of Relax programs of up to so many operators; for its parameters see `program`."""
    try:
        from hypothesis import strategies as st
    except ModuleNotFoundError:
        raise WorkbenchError("strategies of programs need Hypothesis; `pip install hypothesis`") from None

    def made(random: Random, count: int) -> Workload:
        return _program(random, "generated", dialect, count, pattern, random.random() < 0.5, ())

    return st.builds(made, st.randoms(use_true_random=False), st.integers(1, operators))


def relay_programs(*, operators: int = 8, pattern: object = None) -> SearchStrategy[Workload]:
    """Return a Hypothesis strategy of Relay programs, as `relax_programs` does."""
    return relax_programs(operators=operators, pattern=pattern, dialect="relay")


def _program(
    random: Random,
    name: str,
    dialect: str | None,
    operators: int,
    pattern: object,
    matches: bool,
    likely: Collection[str],
) -> Workload:
    found = dialect_named(dialect) if dialect else dialect_here()
    from workbench.testing.growth import Growth  # it imports TVM

    wanted = None if pattern is None else read_pattern(pattern)
    workload, found_any = None, False
    for _ in range(TRIES):
        growth = Growth(random, found.name, wanted, matches, likely)
        growth.grow(operators)
        found_any = found_any or growth.instances > 0
        workload = found.frontend.load(*growth.module(), name)
        assert workload is not None, "a growth makes an IRModule"
        workload.shapes = growth.sizes
        if wanted is None or (operators > CHECKED and found_any):
            return workload
        report = match(workload, wanted) if growth.instances else None
        if report is not None and (bool(report) if matches else not report and report.near_misses):
            return workload
    if workload is None or not found_any:
        raise PatternError("no operators that are generated give a value that the pattern matches")
    return workload
